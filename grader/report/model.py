"""The result of grading one submission for one assignment, and its JSON form.

    Report ─ KernelResult… ─ CheckResult… ─ evidence

`docs/report.md` documents every key, and `schemas/report.schema.json` is the same contract for
machines; a test compares the three. Unknown numbers are null, never a sentinel. The floats that
JSON lacks are the strings "nan", "inf" and "-inf".
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import json
import math
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from grader.errors import GraderError
from grader.report.evidence import Evidence
from grader.report.verdict import Verdict
from grader.system.umask import apply_user_umask
from grader.vocabulary import CheckName, Language, Visibility

FORMAT = 1
_UNWRITTEN = "unwritten"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One check of one kernel: the line that a student reads.

    `score` is null if the grader failed. `pending` points are neither won nor lost, because this
    machine could not measure them.
    """

    check: CheckName
    name: str
    verdict: Verdict
    score: float | None
    max_score: float
    pending: float = 0.0
    visibility: Visibility = Visibility.VISIBLE
    message: str
    hint: str = ""
    wall_s: float = 0.0
    evidence: Evidence | None = None
    # True while the check has not run yet; not written to JSON.
    waiting: bool = field(default=False, metadata={_UNWRITTEN: True})


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelResult:
    """One kernel in one language, or a kernel that was not handed in (no language).

    If several languages were handed in, there is a result for each, and `counted` marks the best
    one, whose points count. Points of a `bonus` come on top of all points of the assignment, and
    its verdict does not decide that of the submission. `source_lines` are the lines of the file
    that evidence names, with their surroundings, by number.
    """

    name: str
    title: str
    language: Language | None
    file: str | None
    counted: bool
    verdict: Verdict
    score: float | None
    max_score: float
    pending: float
    checks: tuple[CheckResult, ...] = ()
    bonus: bool = False
    source_lines: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of grading one submission for one assignment."""

    assignment: str
    title: str
    verdict: Verdict
    score: float | None
    max_score: float
    pending: float
    handed_in: int
    kernels_total: int
    filtered: bool
    wall_s: float
    environment: dict[str, str | int | float | None] = field(default_factory=dict)
    kernels: tuple[KernelResult, ...] = ()

    def first_message(self, verdict: Verdict) -> str:
        """Return kernel and message of the first check with this verdict; "" if there is none."""
        pairs = ((kernel, check) for kernel in self.kernels for check in kernel.checks)
        messages = (f"{k.name}: {check.message}" for k, check in pairs if check.verdict is verdict)
        return next(messages, "")


def keys(record: Any) -> list[str]:
    """Return the keys of a record in JSON: its fields, without those that are never written."""
    fields = dataclasses.fields(record)
    return [field.name for field in fields if _UNWRITTEN not in field.metadata]


def to_json(report: Report) -> dict[str, Any]:
    """Return the report as JSON values, `format` first."""
    return {"format": FORMAT, **_to_json(report)}


def _to_json(value: object) -> Any:
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: _to_json(getattr(value, name)) for name in keys(type(value))}
    if isinstance(value, dict):
        return {_to_json(str(key)): _to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_json(item) for item in value]
    if isinstance(value, str):
        # JSON text has no lone surrogates, which a file name that is not UTF-8 contains.
        return _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value


def write_report(report: Report, path: Path) -> None:
    """Write the report atomically: a reader sees the old file or the complete new one.

    Raises GraderError if it cannot be stored (full disk, no permission, a link or a device in its
    place); the old file is then unchanged.
    """
    text = json_text(to_json(report))
    try:
        write_atomically(path, text)
    except OSError as error:
        raise GraderError(
            f"cannot write the report {path}: {error.strerror or error}",
            tip="free space or choose another place with --json",
        ) from error


def json_text(values: Mapping[str, Any]) -> str:
    """Return JSON text as all reports have it: indented, not escaped to ASCII, without NaN."""
    return json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file atomically: a reader sees the old file or the complete new one.

    Raises OSError if it cannot be stored; the old file is then unchanged.
    """
    # In the same folder, because a rename works within one file system only; opened like any new
    # file, so that it has the permissions of the umask.
    scratch = path.with_name(f".{path.stem}-{secrets.token_hex(8)}")
    try:
        # A rename would replace a link, or a device such as /dev/stdout.
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise OSError(errno.EINVAL, "it exists and is not a regular file")
        with scratch.open("xb") as file:
            apply_user_umask(file.fileno())
            file.write(content if isinstance(content, bytes) else content.encode())
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    finally:
        with contextlib.suppress(OSError):  # after a success there is none
            scratch.unlink()
