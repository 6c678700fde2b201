# attack: group=forge verdict=wrong_answer
# Tells records of its own on the report.
import os


def silu(input, output, n):
    for _ in range(3):
        os.write(4, b'{"record": "summary", "accesses": 1}\n{"record": "unsupported"}\n[1]\n\x00\xff\n')
