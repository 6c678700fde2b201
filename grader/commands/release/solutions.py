"""The lines that only a solution has: what no archive may hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from grader.assignment.generated import stub_text
from grader.errors import GraderError

_KERNEL_FILES = {".cu", ".py"}
# Shorter ones are braces and the like.
_LEAST_CHARACTERS = 12


def solved_lines(reference: Path) -> frozenset[str]:
    """Return the lines between TODO and end of an assignment's solved files, no samples.

    Lines that stand in a stub as well tell nothing. Empty if there is no folder.
    Raises GraderError if a file's marks do not pair.
    """
    solved: set[str] = set()
    given: set[str] = set()
    for path in _solved_files(reference):
        text = path.read_text(encoding="utf-8", errors="replace")
        try:
            stub = {line.strip() for line in stub_text(text).splitlines()}
        except ValueError as error:
            raise GraderError(f"{path}: {error}") from None
        given |= stub
        solved |= {line.strip() for line in text.splitlines()} - stub
    return frozenset(line for line in solved - given if len(line) >= _LEAST_CHARACTERS)


def _solved_files(reference: Path) -> Iterator[Path]:
    for path in sorted(reference.rglob("*")):
        inner = path.relative_to(reference)
        if path.is_file() and path.suffix in _KERNEL_FILES and inner.parts[0] != "samples":
            yield path
