"""The sample hand-ins of this folder: run once per session, each in a fork, and read.

What is expected stands in the samples, in a comment at the end of the line it
belongs to, or on a line of its own just before:

    # ! out_of_bounds error load x 1023     kind, severity, access, tensor, first offset
    # ! budget                              the reason of not being measured
    # !                                     the compiler's error is here
"""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RUNNER = HERE / "sample_runner.py"
OPERATIONS = 20_000
_MARK = re.compile(r"# !(.*)$")

Told = dict[str, Any]


def files(folder: str) -> list[Path]:
    """Return the samples of a folder."""
    return sorted((HERE / folder).glob("*.py"))


def marks(file: Path) -> list[tuple[int, str]]:
    """Return (line, what is expected there)."""
    found = []
    for number, line in enumerate(file.read_text().splitlines(), start=1):
        if match := _MARK.search(line):
            own_line = line.strip().startswith("#")
            found += [(number + own_line, part.strip()) for part in match[1].split(",")]
    return found


def run(
    paths: list[Path],
    environment: dict[str, str] | None = None,
    operations: int = OPERATIONS,
) -> dict[str, Told]:
    """Run samples; return what became of each, by name."""
    ended = subprocess.run(
        [sys.executable, RUNNER, "--operations", str(operations), *paths],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, **(environment or {})},
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    results = [json.loads(line) for line in ended.stdout.splitlines()]
    return {Path(result["file"]).stem: result for result in results}


@functools.cache
def result(folder: str, name: str) -> Told:
    """Return what became of one sample; its whole folder runs at the first question."""
    return _folder(folder)[name]


@functools.cache
def _folder(folder: str) -> dict[str, Told]:
    return run(files(folder))


def records(result: Told, kind: str) -> list[Told]:
    """Return the records of a kind that a sample told."""
    return [record for record in result["told"] if record["record"] == kind]


def findings(result: Told) -> list[tuple[Any, ...]]:
    """Return (line, words of its mark) of each different finding, the first told first."""
    found = []
    for record in records(result, "finding"):
        words = (record[key] for key in ("kind", "severity", "access", "tensor", "offset"))
        found.append((record["line"], " ".join(map(str, words))))
    return list(dict.fromkeys(found))
