"""The result of grading one hand-in for one assignment, and its JSON form.

    Report ─ KernelResult… ─ CheckResult… ─ evidence

`docs/report.md` documents every key; `schemas/report.schema.json` is the same
contract for machines, and a test holds the three together. Numbers that are
unknown are null, never a sentinel; the floats that JSON lacks are the strings
"nan", "inf" and "-inf".
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import tempfile
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from grader.errors import GraderError
from grader.evidence import Evidence
from grader.verdict import Verdict
from grader.words import CheckName, Language, Visibility

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One check of one kernel: the line a student reads.

    `score` is null if the grader failed. `pending` points are neither won nor
    lost: this machine could not measure.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelResult:
    """One kernel in one language, or one that was not handed in (no language).

    Where both languages were handed in both appear and `counted` marks the
    better one, whose points count.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that was found out about one hand-in for one assignment."""

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


def to_json(report: Report) -> dict[str, Any]:
    """Return the report as JSON values, `format` first."""
    return {"format": FORMAT, **_plain(report)}


def _plain(value: object) -> Any:
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: _plain(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value


def write_report(report: Report, path: Path) -> None:
    """Write the report so that a reader sees the old file or the whole new one.

    Raises GraderError if it cannot be stored (full disk, no permission); an
    existing file is then untouched.
    """
    text = json.dumps(to_json(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    scratch: str | None = None
    try:
        handle, scratch = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp is private to its owner; a report is as readable as any file one writes.
        mask = os.umask(0)
        os.umask(mask)
        Path(scratch).chmod(0o666 & ~mask)
        Path(scratch).replace(path)
    except OSError as error:
        if scratch is not None:
            Path(scratch).unlink(missing_ok=True)
        raise GraderError(
            f"cannot write the report {path}: {error.strerror or error}",
            tip="free space or choose another place with --json",
        ) from error
