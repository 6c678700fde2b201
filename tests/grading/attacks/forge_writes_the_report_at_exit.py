# attack: group=forge verdict=wrong_answer
# Waits for its own end to write the report.
import atexit
from pathlib import Path


def forge():
    for path in ("@REPORT@", "report.json", "../report.json"):
        Path(path).write_text('{"format": 1, "verdict": "accepted"}')


atexit.register(forge)


def silu(input, output, n):
    pass
