"""Sample hand-ins with a fault planted in each, or right ones, and what becomes of them.

What is expected stands in the samples, in a comment at the end of the line that it belongs to, or
on a line of its own just before:

    # ! out_of_bounds error load x 1023     kind, severity, access, tensor, first element
    # ! endless                             the reason of not being measured
    # !                                     the compiler's error is here
"""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paths import TESTS

SAMPLES = TESTS / "emulation" / "triton_ir"
RUNNER = Path(__file__).with_name("triton_sample_runner.py")
_MARK = re.compile(r"# !(.*)$")

Told = dict[str, Any]


def files(folder: str) -> list[Path]:
    """Return the samples of a folder."""
    return sorted((SAMPLES / folder).glob("*.py"))


def marks(file: Path) -> list[tuple[int, str]]:
    """Return (line, what is expected there)."""
    found = []
    for number, line in enumerate(file.read_text().splitlines(), start=1):
        if match := _MARK.search(line):
            own_line = line.strip().startswith("#")
            found += [(number + own_line, part.strip()) for part in match[1].split(",")]
    return sorted(found)


def run(
    paths: Sequence[Path], *options: str, environment: dict[str, str] | None = None
) -> dict[str, Told]:
    """Run samples, each in processes of its own; return what became of each, by name."""
    ended = subprocess.run(
        [sys.executable, RUNNER, *options, *paths],
        capture_output=True,
        text=True,
        timeout=1000,
        env={**os.environ, "TRITON_DEFAULT_FP_FUSION": "1", **(environment or {})},
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    version, *results = [json.loads(line) for line in ended.stdout.splitlines()]
    return {Path(result["file"]).stem: {**version, **result} for result in results}


@functools.cache
def result(folder: str, name: str, *options: str) -> Told:
    """Return what became of one sample."""
    return run([SAMPLES / folder / f"{name}.py"], *options)[name]


def records(result: Told, kind: str, of: str = "told") -> list[Told]:
    """Return the records of a kind, of the executor's or of the `worker`'s."""
    return [record for record in result[of] if record["record"] == kind]


def findings(result: Told) -> list[tuple[Any, ...]]:
    """Return (line, words of its mark) of each different finding, by line."""
    found = set()
    for record in records(result, "finding"):
        words = (record[key] for key in ("kind", "severity", "access", "tensor", "offset"))
        found.add((record["line"], " ".join(map(str, words))))
    return sorted(found)
