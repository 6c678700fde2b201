"""Exit codes of the commands, and the exceptions for failures that are not the student's.

    GraderError                 a failure of the grader or the machine   -> exit 3
    ├── UsageError              a wrong command line or submission path   -> exit 2
    ├── SpecError               an assignment that does not validate      -> exit 2
    └── ToolError               g++, nvcc, torch … is missing or unusable -> exit 3

A student's failure is a value (a `Verdict` with its message), never an exception. `cli` turns
these exceptions into text, and so do the programs that start as `python -m`.
"""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path


class ExitCode(IntEnum):
    """What a command of `grade` ends with."""

    COMPLETE = 0
    INCOMPLETE = 1  # points are lost, a sample differs, a submission has no report
    WRONG_COMMAND = 2
    GRADER_FAILED = 3
    INTERRUPTED = 130

    @classmethod
    def of(cls, *, complete: bool) -> ExitCode:
        """Return the exit code of a command that ran to its end."""
        return cls.COMPLETE if complete else cls.INCOMPLETE


class GraderError(Exception):
    """The grader or the machine failed: the score is null, never zero.

    `message` says what happened; `tip`, if any, says how to fix it.
    """

    exit_code = ExitCode.GRADER_FAILED

    def __init__(self, message: str, *, tip: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.tip = tip


class UsageError(GraderError):
    """The command line, or a path that it names, is wrong."""

    exit_code = ExitCode.WRONG_COMMAND


class ToolError(GraderError):
    """A required program or package is missing or does not work."""


class SpecError(GraderError):
    """An assignment that cannot be used; the message names its file, key and line."""

    exit_code = ExitCode.WRONG_COMMAND

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
    """Return the error for a course file that is not UTF-8; `error` is from decoding all of it."""
    line = error.object.count(b"\n", 0, error.start) + 1
    tip = "save the file with the encoding UTF-8"
    return SpecError("is not UTF-8 text", file=file, line=line, tip=tip)
