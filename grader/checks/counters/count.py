"""Count the memory accesses of one small case and compare them with the assignment's bounds.

    CUDA C++   the checked host build counts every block
    Triton     the executor of launches counts, with the layouts that the compiler for a GPU chose

Both need no GPU, and are the same on a machine with one. In CUDA C++ the figures come from the
process that ran the submission and are not trusted by themselves. In either language they win
points only if the judge saw right outputs in the same run, and if the counted accesses are enough
to read and write every array once. A broken bound always costs the points.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from grader.assignment.cases import DEFAULT_VALUES, Case
from grader.assignment.counter_bounds import FigureName, FigureUnit
from grader.assignment.model import Assignment, Kernel
from grader.build.artifact import Rejected
from grader.checks.check import CheckOutcome
from grader.checks.common.case_run import RunSetup
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.common.emulation_findings import TOOL as HOST_TOOL
from grader.checks.common.tool_run import Prepared, ToolOutcome, run_under_tool
from grader.checks.counters import messages
from grader.checks.counters.totals import AccessCounts, read_host
from grader.judge.session import Session
from grader.report.evidence import CounterFigure, CountersEvidence
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName, Device, Language, Memory, Visibility

SHOWN = 10
_FINISH_S = 10.0
# Elements of all arrays together: 0.1 s for a kernel with little reuse.
_MOST_ELEMENTS = 2**16


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterScoring:
    """How the figures of a submission count.

    `most` are the bounds of its language; `scored` is true if they have points. With
    `graded_on_gpu`, a failure of the run on the CPU costs no points.
    """

    language: Language
    most: Mapping[FigureName, float] = field(default_factory=dict)
    scored: bool = False
    graded_on_gpu: bool = False

    @classmethod
    def of(cls, kernel: Kernel, language: Language, device: Device) -> CounterScoring:
        """Return the scoring of a kernel in a language that is graded on `device`."""
        return cls(
            language=language,
            most=kernel.counters.of(language) if kernel.counters is not None else {},
            scored=CheckName.COUNTERS in kernel.points,
            graded_on_gpu=device is Device.CUDA,
        )


def counting_case(
    assignment: Assignment, kernel: Kernel, language: Language, public_seed: int
) -> Case:
    """Return the case to count: that of the spec's bounds, otherwise the largest small case.

    In Triton a case of multiples of 16 goes first: the compiler splits wide accesses of others.
    """
    if kernel.counters is not None:
        sizes = kernel.counters.sizes
        return Case(
            name=", ".join(f"{name}={value}" for name, value in sizes.items()),
            sizes=sizes,
            values=DEFAULT_VALUES,
            visibility=Visibility.VISIBLE,
            seed=public_seed,
        )
    drawn = assignment.draw_cases(Device.CPU, language, public_seed=public_seed, secret_seed=0)
    visible = [case for case in drawn if case.visibility is Visibility.VISIBLE]
    by_size = {_elements(assignment, case): case for case in visible or drawn}
    small = [size for size in by_size if size <= _MOST_ELEMENTS]
    if language is Language.TRITON:
        small = [size for size in small if _is_even(by_size[size])] or small
    return by_size[max(small) if small else min(by_size)]


def _is_even(case: Case) -> bool:
    return not any(value % 16 for value in case.sizes.values() if isinstance(value, int))


def _elements(assignment: Assignment, case: Case) -> int:
    signature = assignment.signature
    return sum(math.prod(signature.shape(array, case.sizes)) for array in signature.arrays)


def check_host_counters(
    setup: RunSetup, text: str, case: Prepared, scoring: CounterScoring
) -> CheckOutcome[CountersEvidence]:
    """Run the checked host build of `setup` on one case; `text` is the rewritten source file."""
    started_s = time.monotonic()
    settings = "schedule=forward counted_blocks=0"
    with Session(setup.built, setup.assignment.limits, None, host_settings=settings) as session:
        outcome = run_under_tool(setup, session, [case], setup.assignment.limits)
        session.finish(_FINISH_S)
        records = session.records()

    def read() -> AccessCounts:
        file = setup.built.file
        return read_host(outcome.records, records, setup.built.path, file, text)

    judged = judge_run(setup, case[0], outcome, scoring, HOST_TOOL, read)
    return counted_in(started_s, *judged)


def counted_in(
    started_s: float, diagnosis: Diagnosis, evidence: CountersEvidence | None = None
) -> CheckOutcome[CountersEvidence]:
    """Return the outcome of a check that began at `started_s`."""
    wall_s = round(time.monotonic() - started_s, 3)
    return CheckOutcome(diagnosis=diagnosis, evidence=evidence, wall_s=wall_s)


def judge_run(
    setup: RunSetup,
    case: Case,
    outcome: ToolOutcome,
    scoring: CounterScoring,
    tool: str,
    read: Callable[[], AccessCounts],
) -> tuple[Diagnosis, CountersEvidence | None]:
    """Decide by how the run ended, then whether it proves anything, then the bounds.

    `read` raises ValueError if a record is forged.
    """
    if outcome.failure is not None:
        return unproven(outcome.failure, scoring), None
    try:
        counted = read()
    except ValueError:
        return Diagnosis(Verdict.TAMPERED, messages.TAMPERED), None
    least = _least_bytes(setup, case)
    evidence = _evidence(tool, case, counted, sum(least), scoring.most)
    if not counted.complete:
        incomplete = Diagnosis(Verdict.WRONG_ANSWER, messages.INCOMPLETE)
        return unproven(incomplete, scoring), evidence
    if counted.problem is not None:
        return Diagnosis(Verdict.NOT_MEASURED, counted.problem), evidence
    if outcome.wrong:
        wrong = Diagnosis(Verdict.WRONG_ANSWER, messages.WRONG_OUTPUTS)
        return unproven(wrong, scoring), evidence
    missing = messages.missing_accesses(
        counted.launches,
        read=(counted.moved_bytes("load", "atomic"), least[0]),
        written=(counted.moved_bytes("store", "atomic"), least[1]),
    )
    if missing and (scoring.scored or not counted.lines):
        return unproven(Diagnosis(Verdict.WRONG_ANSWER, missing), scoring), evidence
    broken = [figure for figure in evidence.figures if not _within_bound(figure)]
    if broken and scoring.scored:
        worst = max(broken, key=lambda figure: (figure.ratio or 0) / (figure.allowed or 1))
        message, hint = messages.broken_bound(
            worst, counted.lines, scoring.language, more=len(broken) - 1
        )
        return Diagnosis(Verdict.TOO_SLOW, message, hint=hint), evidence
    return Diagnosis(Verdict.ACCEPTED, messages.summary(evidence)), evidence


def not_built(rejected: Rejected, scoring: CounterScoring) -> CheckOutcome[CountersEvidence]:
    """Return the outcome without a checked host build; only a forbidden construct costs points."""
    forbidden = rejected.verdict is Verdict.FORBIDDEN and scoring.scored
    verdict = Verdict.FORBIDDEN if forbidden else Verdict.NOT_MEASURED
    return CheckOutcome(diagnosis=Diagnosis(verdict, rejected.message))


def unproven(diagnosis: Diagnosis, scoring: CounterScoring) -> Diagnosis:
    """Return the diagnosis of the check for a run that proves nothing."""
    if diagnosis.verdict.pending:
        return replace(diagnosis, hint="")  # a machine with a GPU counts no other way
    if scoring.scored and scoring.graded_on_gpu:
        message = f"in the run on the CPU, which counts accesses: {diagnosis.message}"
        return Diagnosis(Verdict.NOT_MEASURED, message)
    if scoring.scored:
        return diagnosis
    return Diagnosis(Verdict.SKIPPED, f"not counted: {diagnosis.message}")


def _least_bytes(setup: RunSetup, case: Case) -> tuple[int, int]:
    """Return the bytes of the device arrays that the kernel reads, and of those it writes."""
    signature = setup.assignment.signature
    read = written = 0
    for array in signature.arrays:
        if array.memory is Memory.DEVICE:
            size = signature.element_type(array, setup.built.language).size
            size *= math.prod(signature.shape(array, case.sizes))
            read += size * array.role.read
            written += size * array.role.written
    return read, written


def _within_bound(figure: CounterFigure) -> bool:
    if figure.allowed is None or not figure.measured:
        return True
    return figure.measured <= figure.allowed * figure.least


def _evidence(
    tool: str,
    case: Case,
    counted: AccessCounts,
    least_bytes: int,
    most: Mapping[FigureName, float],
) -> CountersEvidence:
    def figure(name: FigureName, unit: FigureUnit, measured: int, least: int) -> CounterFigure:
        ratio = round(measured / least, 4) if measured and least else None
        return CounterFigure(
            name=name,
            unit=unit,
            measured=measured,
            least=least,
            ratio=ratio,
            allowed=most.get(name),
        )

    def sums(space: str, *accesses: str) -> tuple[int, int]:
        return counted.total("transactions", space, accesses), counted.total(
            "least", space, accesses
        )

    worst = sorted(counted.lines, key=lambda line: (line.least - line.transactions, line.line or 0))
    return CountersEvidence(
        tool=tool,
        case=case.name,
        launches=counted.launches,
        figures=(
            figure("load_sectors", "sectors", *sums("global", "load")),
            figure("store_sectors", "sectors", *sums("global", "store")),
            figure("shared_wavefronts", "wavefronts", *sums("shared", "load", "store")),
            figure("traffic", "bytes", counted.moved_bytes("load", "store", "atomic"), least_bytes),
        ),
        lines=tuple(worst[:SHOWN]),
        lines_total=len(worst),
        warps=counted.warps,
    )
