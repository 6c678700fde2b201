"""What a check found out, as typed records: the `evidence` of a report.

Each record says where it comes from: `origin` is "judge" for what the trusted
process saw itself, "worker" for what a process that ran student code told (it
may cost points, it never earns any by itself), "compiler" for a build tool.
Data only; `report` turns it into JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from grader.assignment.counter_bounds import FigureName, FigureUnit
from grader.report.verdict import Verdict
from grader.vocabulary import Visibility

Origin = Literal["judge", "worker", "compiler"]


class Evidence:
    """What the verdict of one check rests on. A check with evidence of its own derives from it.

    A derived class is a dataclass whose keys no other one has: a report is read back by them.
    """

    __slots__ = ()


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
class BuildEvidence(Evidence):
    """How a kernel file was made runnable."""

    tool: str
    cached: bool
    diagnostics: tuple[Diagnostic, ...] = ()
    diagnostics_total: int = 0
    output: str = ""
    origin: Origin = "compiler"


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectnessEvidence(Evidence):
    """All cases of one visibility, in the order of the spec."""

    cases: tuple[CaseResult, ...]
    cases_total: int
    atol: float
    rtol: float
    exact: bool
    transport: Literal["shared", "private"]
    output: str = ""
    origin: Origin = "judge"


FindingKind = Literal[
    "out_of_bounds", "misaligned", "race", "uninitialized", "barrier", "leak", "invalid_copy"
]
Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One fault in how a kernel uses memory, at one line.

    An `error` costs points; a `warning` is what no tool of a GPU confirms, or
    what has honest uses. `line` is None if the tool did not know it;
    `other_line` is a race's other access. `block` and `thread` are those of
    the first occurrence of `count` (a Triton program is a block). `element` is
    where in `buffer` it was, counted from its first element, negative before.
    """

    kind: FindingKind
    severity: Severity
    message: str
    hint: str = ""
    file: str
    line: int | None
    other_line: int | None = None
    kernel: str | None = None
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    buffer: str | None = None
    element: int | None = None
    access: Literal["read", "write", "atomic"] | None = None
    access_bytes: int | None = None
    count: int = 1
    tool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRun:
    """One tool's run over the memory cases; `problem` says why it could not run."""

    tool: str
    findings: int
    wall_s: float
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEvidence(Evidence):
    """What the memory tools found: errors first, at most ten shown.

    A clean run counts only with proof that the kernel ran: the outputs were
    right in the judge's own copy in every one of `cases`.
    """

    tools: tuple[ToolRun, ...]
    cases: tuple[str, ...]
    findings: tuple[Finding, ...]
    findings_total: int
    output: str = ""
    origin: Origin = "worker"


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkTiming:
    """One benchmark's figures: medians over the rounds, the exchanges' overhead taken off.

    `speedups` are the rounds' ratios, baseline's time ÷ hand-in's; the true
    median lies between `low` and `high` with 95 %. `roof_share` is the rate as
    a share of what a copy within the device's memory reaches; None where the
    host's memory takes part, which is slower.
    """

    name: str
    sizes: dict[str, int | float]
    baseline_us: float
    submission_us: float
    speedup: float
    low: float
    high: float
    speedups: tuple[float, ...]
    rounds: int
    discarded: int
    calls_per_round: int
    overhead_us: float
    baseline_alone_us: float
    gb_s: float
    tflop_s: float | None
    roof_share: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TierShown:
    """One tier of the kernel on this GPU."""

    speedup: float
    share: float
    accepted: bool
    reached: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PerformanceEvidence(Evidence):
    """How fast, relative to torch: the geometric mean over the benchmarks.

    `flags` are for staff and change no verdict: faster than the data sheet
    allows, a GPU that other processes used.
    """

    benchmarks: tuple[BenchmarkTiming, ...]
    speedup: float | None
    low: float | None
    high: float | None
    tiers: tuple[TierShown, ...]
    roof_gb_s: float | None
    sm_mhz: int | None
    memory_mhz: int | None
    temperature_c: int | None
    throttle_reasons: tuple[str, ...]
    flags: tuple[str, ...] = ()
    origin: Origin = "judge"


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterFigure:
    """One figure over all kernels of a call, and the least that would have done.

    `unit` is what `measured` and `least` count. `ratio` is None if there are no
    such accesses, `allowed` if the assignment sets no bound.
    """

    name: FigureName
    unit: FigureUnit
    measured: int
    least: int
    ratio: float | None = None
    allowed: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterLine:
    """The accesses of one kind in one line.

    `transactions` are sectors of 32 bytes in global memory and wavefronts in
    shared memory, `least` those that would do for the same requests. In CUDA
    C++ a request is a warp's, in Triton a whole block's.
    """

    file: str
    line: int | None
    kernel: str
    space: Literal["global", "shared"]
    access: Literal["load", "store", "atomic"]
    access_bytes: int | None
    requests: int
    transactions: int
    least: int
    per_request: float
    ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CountersEvidence(Evidence):
    """What the accesses of one call cost: the worst lines first, at most ten.

    They win points only with what the judge saw itself: outputs that are right
    in that very call, and counted accesses that cover every array.
    """

    tool: str
    case: str
    launches: int
    figures: tuple[CounterFigure, ...]
    lines: tuple[CounterLine, ...]
    lines_total: int
    origin: Origin = "worker"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRun:
    """One run of the student's own program around the student's own kernel.

    `changed` says whether an element of an output was changed after each call
    of the entry: then the program has to end with another exit code than 0.
    `element` is that of the first call, one number for each dimension (empty
    if there was none). `exit_code` is None if a signal or a limit ended it.
    """

    changed: bool
    verdict: Verdict
    message: str
    calls: int
    array: str
    element: tuple[int, ...]
    exit_code: int | None
    signal: int | None
    wall_s: float
    output: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramEvidence(Evidence):
    """The runs of the student's own program, in the order in which they were made.

    The first that is not accepted is the last. `kernel` served, of `runs_total`
    planned.
    """

    kernel: str
    runs: tuple[ProgramRun, ...]
    runs_total: int
    origin: Origin = "judge"


RuleName = Literal[
    "own_kernel", "library", "loaded_kernel", "loaded_library",
    "program", "other_process", "network", "interpreter",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenRule:
    """One rule that the hand-in breaks; `names` are the linked functions that show it."""

    rule: RuleName
    message: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesEvidence(Evidence):
    """What a kernel did that it may not, by what the judge saw itself.

    `cases` were run with all launches left out, `written` of their output
    elements were written all the same. `flags` are for staff and decide nothing.
    """

    broken: tuple[BrokenRule, ...]
    cases: tuple[str, ...] = ()
    written: int = 0
    flags: tuple[str, ...] = ()
    origin: Origin = "judge"
