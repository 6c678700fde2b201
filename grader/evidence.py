"""What a check found out, as typed records: the `evidence` of a report.

Each record says where it comes from: `origin` is "judge" for what the trusted
process saw itself, "worker" for what a process that ran student code told (it
may cost points, it never earns any by itself), "compiler" for a build tool.
Data only; `report` turns it into JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from grader.verdict import Verdict
from grader.words import Visibility

Origin = Literal["judge", "worker", "compiler"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One message of a compiler or interpreter, at the student's own line."""

    file: str
    line: int | None
    column: int | None = None
    severity: Literal["error", "warning"] = "error"
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """One element outside the tolerance.

    `actual`, `expected` and `allowed` (the largest accepted difference) are
    floats; not-a-number and the infinities are legal values of the first two.
    """

    output: str
    index: tuple[int, ...]
    expected: float
    actual: float
    allowed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """What became of one case.

    `mismatched` of `elements` are outside the tolerance, the first few of them
    in `mismatches`; `pattern` names the shape of the error, if it has one.
    `max_error` is the largest absolute difference (None if it is not finite).
    """

    name: str
    visibility: Visibility
    sizes: dict[str, int | float]
    verdict: Verdict
    message: str
    hint: str = ""
    elements: int = 0
    mismatched: int = 0
    mismatches: tuple[Mismatch, ...] = ()
    pattern: str | None = None
    max_error: float | None = None
    wall_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildEvidence:
    """How a kernel file was made runnable."""

    tool: str
    cached: bool
    diagnostics: tuple[Diagnostic, ...] = ()
    diagnostics_total: int = 0
    output: str = ""
    origin: Origin = "compiler"


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectnessEvidence:
    """All cases of one visibility, in the order of the spec."""

    cases: tuple[CaseResult, ...]
    cases_total: int
    atol: float
    rtol: float
    exact: bool
    transport: Literal["shared", "private"]
    output: str = ""
    origin: Origin = "judge"


Evidence = BuildEvidence | CorrectnessEvidence
