"""Compiler output → messages at the student's own lines.

Three dialects are read: GCC's (`file:line:column: error: text`), that of
nvcc's front end (`file(line): error: text`) and ptxas's (`ptxas fatal : text`).
Wording is shown, never decided on: whether a build failed is the compiler's
exit code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Literal

from grader.evidence import Diagnostic

SHOWN = 10

# What the words of g++ and nvcc mean to someone who reads them for the first time.
_ADVICE = (
    (
        re.compile(r"No such file or directory|cannot open source file|could not open source"),
        "only this file is graded: put what it needs into it",
    ),
    (
        re.compile(r"expected .*[‘'\"];[’'\"]|expected .*[‘'\"][)}][’'\"]"),
        "a semicolon or bracket is missing, here or at the end of the line before",
    ),
    (
        re.compile(r"was not declared in this scope|is undefined$|does not name a type"),
        "is the name misspelt, or used before it is declared?",
    ),
)

_GCC = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:(?P<column>\d+):)?\s+"
    r"(?P<kind>fatal error|error|warning):\s+(?P<text>.*)$"
)
_EDG = re.compile(
    r"^(?P<file>[^\s(][^(\n]*)\((?P<line>\d+)\):\s+"
    r"(?P<kind>catastrophic error|error|warning)(?:\s+#[\w-]+)?:\s+(?P<text>.*)$"
)
_TOOL = re.compile(
    r"^(?P<file>ptxas|nvlink|collect2|ld|/\S*/ld|nvcc|cc1plus|g\+\+)(?:\s+|:\s*)"
    r"(?P<kind>fatal|error|warning)?\s*:?\s*(?P<text>.*)$"
)


def parse(output: str, student_file: str) -> tuple[Diagnostic, ...]:
    """Return all messages, errors before warnings, the student's lines first.

    Messages in other files (our headers, the toolkit's) are kept without a
    line: the student cannot mend that line.
    """
    found = list(_messages(output, student_file))
    found.sort(key=lambda item: (item.severity != "error", item.line is None))
    return tuple(found)


def advice(message: str) -> str:
    """Return a hint for a compiler's message, "" if there is none."""
    return next((hint for pattern, hint in _ADVICE if pattern.search(message)), "")


def _messages(output: str, student_file: str) -> Iterator[Diagnostic]:
    seen: set[tuple[int | None, str]] = set()
    for line in output.splitlines():
        match = _GCC.match(line) or _EDG.match(line) or _TOOL.match(line)
        if match is None or not match["text"]:
            continue
        groups = match.groupdict()
        theirs = PurePath(groups["file"]).name == PurePath(student_file).name
        at = int(groups["line"]) if theirs and groups.get("line") else None
        text = groups["text"].strip()
        if (at, text) in seen:
            continue  # host and device passes report the same error twice
        seen.add((at, text))
        severity: Literal["error", "warning"] = (
            "warning" if groups["kind"] == "warning" else "error"
        )
        column = int(groups["column"]) if at and groups.get("column") else None
        yield Diagnostic(file=student_file, line=at, column=column, severity=severity, message=text)
