"""The evidence of a check, as typed records.

`origin` says where a record comes from: "judge" for what the trusted process saw itself, "worker"
for what a process that ran student code reported (it may cost points but never earns any by
itself), "compiler" for a build tool. `grader.report.model` turns the records into JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from grader.assignment.counter_bounds import CountName, FigureName, FigureUnit
from grader.report.verdict import Verdict
from grader.vocabulary import Visibility

Origin = Literal["judge", "worker", "compiler"]
# The part of the roofline that bounds all benchmarks: the copy bandwidth or the arithmetic peak.
RoofKind = Literal["copy", "peak", "mixed"]


class Evidence:
    """Base class of the evidence for the verdict of a check.

    Each derived class is a dataclass with a distinct set of keys, by which a report is read back.
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One message of a compiler, or of Python's parser, at the student's own line."""

    file: str
    line: int | None
    column: int | None = None
    severity: Literal["error", "warning"] = "error"
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """One element outside the tolerance.

    `allowed` is the largest accepted difference. `actual` and `expected` may be NaN or infinite.
    """

    output: str
    index: tuple[int, ...]
    expected: float
    actual: float
    allowed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorMap:
    """Where an output is wrong: a picture of at most 64 × 64 cells.

    The output is laid out as a matrix of `rows` × `columns` elements: a matrix as it is, a longer
    shape with its last dimension as columns, and a vector in rows of `columns` elements. A cell
    stands for `cell_rows` × `cell_columns` elements. `cells` has a string for each row of cells:
    `.` all right, `x` at least one wrong, `-` at least one wrong and none of the wrong ones
    written, a space for no element.
    """

    output: str
    shape: tuple[int, ...]
    rows: int
    columns: int
    cell_rows: int
    cell_columns: int
    cells: tuple[str, ...]


MOST_DESCRIBED = 2**17  # elements


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """The result of one case.

    `mismatched` of `elements` are outside the tolerance, the first few of them in `mismatches`.
    `pattern` describes the error, if it has a pattern; of more than `MOST_DESCRIBED` elements, or
    of a hidden case, it is not looked for after an earlier case had one. `max_error` is the largest
    absolute difference (None if it is not finite). Of the wrong cases one has an `error_map`.
    `title` is what the spec calls the case; students read that of a hidden case only if
    `title_shown`.
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
    error_map: ErrorMap | None = None
    title: str = ""
    title_shown: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildEvidence(Evidence):
    """The build of a kernel file."""

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

    An `error` costs points. A `warning` is a fault that no GPU tool confirms, or code that may be
    correct. `line` is None if unknown; `other_line` is the other access of a race. `block` and
    `thread` are those of the first of `count` occurrences (a Triton program is a block). `element`
    is the index in `buffer`, negative before its first element, and `elements` the buffer's length.
    `other_…` are the other access of a race; without `other_block` it is in the same block. A block
    has `block_size` threads.
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
    space: Literal["global", "shared"] | None = None
    elements: int | None = None
    block_size: tuple[int, int, int] | None = None
    other_block: tuple[int, int, int] | None = None
    other_thread: tuple[int, int, int] | None = None
    other_access: Literal["read", "write", "atomic"] | None = None

    @property
    def of_program(self) -> bool:
        """True if `block` is a program of Triton's, which has no threads."""
        return self.file.endswith(".py") and self.block_size is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Writers:
    """Which thread wrote which element of an output, for one small case.

    `cells` has a string for each row of `columns` elements: of each element "BLOCK.THREAD" of its
    last writer, both numbered x fastest, or "-" if nothing wrote it, with spaces between. `doubles`
    has as many rows, with `x` for an element that several threads of one launch wrote, else `.`;
    it is empty if there is none.
    """

    kernel: str
    array: str
    case: str
    grid: tuple[int, int, int]
    block_size: tuple[int, int, int]
    elements: int
    columns: int
    cells: tuple[str, ...]
    doubles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRun:
    """One tool's run over the memory cases; `problem` says why it could not run."""

    tool: str
    findings: int
    wall_s: float
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEvidence(Evidence):
    """The findings of the memory tools: errors first, at most ten.

    A run without findings counts only if the outputs of all `cases` were right in the judge's own
    copy, which proves that the kernel ran.
    """

    tools: tuple[ToolRun, ...]
    cases: tuple[str, ...]
    findings: tuple[Finding, ...]
    findings_total: int
    output: str = ""
    origin: Origin = "worker"
    writers: tuple[Writers, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkTiming:
    """The figures of one benchmark: medians over the rounds, without the overhead of the bursts.

    `speedups` are the ratios of the rounds: the baseline's time divided by the submission's. The
    true median lies between `low` and `high` with a confidence of 95 %. `roof_share` is the rate
    divided by the copy bandwidth of device memory; None if an array is in host memory. `peak_share`
    is the operations' rate divided by the arithmetic peak; None if one of the two is unknown.
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
    peak_share: float | None = None
    baseline_rounds_us: tuple[float, ...] = ()
    submission_rounds_us: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TierShown:
    """One tier of the kernel on this GPU: the speedup, or instead the share of the roofline."""

    speedup: float
    roof: float | None = None
    share: float
    accepted: bool
    reached: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PerformanceEvidence(Evidence):
    """The speedup relative to torch: the geometric mean over the benchmarks.

    `roof` is the same for the share of the roofline: None if an array is in host memory, or if the
    peak of the arithmetic is unknown. `share` is that of the points: None if they are not scored;
    `reached_by` is the figure that reaches the best tier: None if none is reached.

    `flags` are for staff and change no verdict, for example a rate above the data sheet's, or other
    processes on the GPU.
    """

    benchmarks: tuple[BenchmarkTiming, ...]
    speedup: float | None
    low: float | None
    high: float | None
    roof: float | None = None
    roof_low: float | None = None
    roof_high: float | None = None
    roof_kind: RoofKind | None = None
    tiers: tuple[TierShown, ...]
    scale: Literal["steps", "linear"] = "steps"
    share: float | None = None
    reached_by: Literal["torch", "roof"] | None = None
    roof_gb_s: float | None
    peak_tflop_s: float | None = None
    sm_mhz: int | None
    memory_mhz: int | None
    temperature_c: int | None
    throttle_reasons: tuple[str, ...]
    flags: tuple[str, ...] = ()
    origin: Origin = "judge"


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterFigure:
    """One figure over all kernels of a call, and the least possible value.

    `measured` and `least` are in `unit`. `ratio` is None if there are no such accesses, `allowed`
    if the assignment sets no bound.
    """

    name: FigureName
    unit: FigureUnit
    measured: int
    least: int
    ratio: float | None = None
    allowed: float | None = None

    @property
    def broken(self) -> bool:
        """True if the figure is beyond its bound."""
        return self.allowed is not None and self.measured > self.allowed * self.least


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedCount:
    """One count that the assignment bounds: None if it was not counted here."""

    name: CountName
    counted: int | None
    at_least: int | None = None
    at_most: int | None = None

    @property
    def broken(self) -> bool:
        """True if the count is known and outside its bounds."""
        if self.counted is None:
            return False
        too_few = self.at_least is not None and self.counted < self.at_least
        return too_few or (self.at_most is not None and self.counted > self.at_most)


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterLine:
    """The accesses of one kind in one line.

    `transactions` are sectors of 32 bytes in global memory and wavefronts in shared memory; `least`
    is the least possible number for the same requests. A request is made by a warp in CUDA C++ and
    by a block in Triton.
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
class WarpAccess:
    """One request of a warp, the most expensive one of its line.

    `lanes` has for each of 32 lanes the byte that it accesses first, None if it takes no part.
    Bytes are counted from the start of the first sector in global memory, from the start of the
    block's memory in shared memory.
    """

    file: str
    line: int | None
    kernel: str
    space: Literal["global", "shared"]
    access: Literal["load", "store", "atomic"]
    access_bytes: int
    lanes: tuple[int | None, ...]
    transactions: int
    least: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchResources:
    """What a launch uses of a multiprocessor of `gpu`, and how many of its blocks fit there.

    `blocks_by_…` says how many blocks one resource alone allows (`limit` is the most blocks that a
    multiprocessor holds); the least of them counts. `blocks_by_shared_memory` is None for a kernel
    without shared memory. `occupancy` is the share of the multiprocessor's threads.
    """

    kernel: str
    target: str
    gpu: str
    threads: int
    registers: int
    spill_bytes: int
    shared_bytes: int
    blocks_by_threads: int
    blocks_by_limit: int
    blocks_by_registers: int
    blocks_by_shared_memory: int | None
    occupancy: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CountersEvidence(Evidence):
    """The memory accesses of one call: the worst lines first, at most ten.

    The worst are those that move most if `traffic` is beyond its bound by more than other figures;
    else those with most transactions beyond the least.

    They win points only if the judge saw right outputs in the same call, and if the counted
    accesses cover every array. `asked_bytes` is what the threads ask of global memory, `operations`
    what the call has to compute: None if the assignment does not state it.
    """

    tool: str
    case: str
    launches: int
    figures: tuple[CounterFigure, ...]
    lines: tuple[CounterLine, ...]
    lines_total: int
    origin: Origin = "worker"
    warps: tuple[WarpAccess, ...] = ()
    asked_bytes: int | None = None
    operations: int | None = None
    resources: tuple[LaunchResources, ...] = ()
    counts: tuple[BoundedCount, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRun:
    """One run of the student's own program with the student's own kernel.

    With `changed`, an output was changed after each call of the entry, so that the program must
    not end with exit code 0. `element` is the index of the changed element in the first call, one
    number for each dimension (empty if there was none). `exit_code` is None if a signal or a limit
    ended the program.
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
    """The runs of the student's own program, in order; a run that is not accepted is the last.

    `kernel` is the kernel that the program is linked with, `runs_total` the number of planned runs.
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
    """One rule that the submission breaks; `names` are the linked functions that prove it."""

    rule: RuleName
    message: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesEvidence(Evidence):
    """The rules that a kernel breaks, as the judge saw itself.

    `cases` were run with all launches left out; `written` of their output elements were written
    anyway. `flags` are for staff and decide nothing.
    """

    broken: tuple[BrokenRule, ...]
    cases: tuple[str, ...] = ()
    written: int = 0
    flags: tuple[str, ...] = ()
    origin: Origin = "judge"
