"""Failures that are not the student's.

    GraderError                 anything of ours or of the machine  -> exit 3
    ├── UsageError              a wrong command line or hand-in path -> exit 2
    ├── SpecError               an assignment that does not validate -> exit 2
    └── ToolError               g++, nvcc, torch … not there or unfit -> exit 3

A student's failure is a value (a `Verdict` with its message), never one of
these. `cli` is the only place that turns them into text.
"""

from __future__ import annotations

from pathlib import Path


class GraderError(Exception):
    """Something of ours failed: the score is null, never zero.

    `message` says what happened; `tip`, if any, says how to mend it.
    """

    exit_code = 3

    def __init__(self, message: str, *, tip: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.tip = tip


class UsageError(GraderError):
    """The command line or the path it names makes no sense."""

    exit_code = 2


class ToolError(GraderError):
    """A program or package that this job needs is absent or does not work."""


class SpecError(GraderError):
    """An assignment that cannot be used: names its file, key and line."""

    exit_code = 2

    def __init__(
        self,
        message: str,
        *,
        file: Path,
        key: str | None = None,
        line: int | None = None,
        tip: str | None = None,
    ) -> None:
        place = str(file) if line is None else f"{file}:{line}"
        subject = f" `{key}`" if key else ""
        super().__init__(f"{place}:{subject} {message}", tip=tip)
        self.file = file
        self.key = key
        self.line = line


def not_utf8(error: UnicodeDecodeError, file: Path) -> SpecError:
    """Return the error for a file of a course whose bytes, decoded as a whole, are not UTF-8."""
    line = error.object.count(b"\n", 0, error.start) + 1
    tip = "save the file with the encoding UTF-8"
    return SpecError("is not UTF-8 text", file=file, line=line, tip=tip)
