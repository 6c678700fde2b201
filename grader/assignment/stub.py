"""A stub is the solved file without its solution.

What stands between a comment `TODO(student)` and a comment `end` is the
student's to write. The stub keeps the two marks and, between them, the lines
that are comments alone: they are the guide, the same in both files. So a
comment that gives the answer away stands behind the code of its line.
"""

from __future__ import annotations

import re

_OPEN = re.compile(r"\s*(?://|#) TODO\(student\)")
_CLOSE = re.compile(r"\s*(?://|#) end\s*$")
_COMMENT = re.compile(r"\s*(?://|#(?!\s*(?:include|define|if|endif|pragma|else|undef)\b))")


def stub_text(solved: str) -> str:
    """Return the stub of a solved file; ValueError if a mark has no partner."""
    kept: list[str] = []
    opened_at: int | None = None
    for number, line in enumerate(solved.splitlines(keepends=True), start=1):
        if _OPEN.match(line):
            if opened_at is not None:
                raise ValueError(f"line {number}: TODO inside the TODO of line {opened_at}")
            opened_at = number
        elif _CLOSE.match(line):
            if opened_at is None:
                raise ValueError(f"line {number}: `end` without a TODO(student) before it")
            opened_at = None
        elif opened_at is not None and not _COMMENT.match(line):
            continue
        kept.append(line)
    if opened_at is not None:
        raise ValueError(f"line {opened_at}: TODO(student) without an `end`")
    return "".join(kept)
