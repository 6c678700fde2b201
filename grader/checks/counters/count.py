"""Are a kernel's accesses as few as they could be? One small case once more, counted.

    CUDA C++, on any device   the checked host build counts every block; bounds bind
    Triton, on a processor    the interpreter counts; told, but no bounds bind

The figures are the word of the process that ran the hand-in. They win points
only together with what the judge saw in that very run: the outputs were right
in its own copy, and the accesses counted are enough to read and write every
array once. A bound that is broken costs the points whoever tells it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.assignment.cases import DEFAULT_VALUES, Case
from grader.assignment.counter_bounds import CounterBounds, FigureName, FigureUnit
from grader.assignment.model import Assignment, Kernel
from grader.build.artifact import Rejected
from grader.checks.check import CheckOutcome
from grader.checks.common import interpreter_findings
from grader.checks.common.case_run import RunSetup
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.common.emulation_findings import TOOL as HOST_TOOL
from grader.checks.common.tool_run import Prepared, ToolOutcome, run_under_tool
from grader.checks.counters import sentences
from grader.checks.counters.totals import Counted, read_host, read_interpreter
from grader.judge.session import Session
from grader.report.evidence import CounterFigure, CountersEvidence
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName, Device, Language, Memory, Visibility

SHOWN = 10
_FINISH_S = 10.0
# Of all arrays together: a tenth of a second for a kernel with little reuse.
_MOST_ELEMENTS = 2**16


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What the figures of a hand-in are worth.

    `bounds` are the assignment's, if it has any; `binding` says that keeping
    them gives points. `stand_in` says that the hand-in is graded on a GPU: what
    fails on the processor alone is then not its fault.
    """

    bounds: CounterBounds | None = None
    binding: bool = False
    stand_in: bool = False

    @classmethod
    def of(cls, kernel: Kernel, device: Device) -> Terms:
        """Return the terms for a kernel in CUDA C++ that is graded on `device`."""
        return cls(
            bounds=kernel.counters,
            binding=CheckName.COUNTERS in kernel.points,
            stand_in=device is Device.CUDA,
        )


def counting_case(
    assignment: Assignment, kernel: Kernel, language: Language, public_seed: int
) -> Case:
    """Return the case to count: the kernel's own in CUDA C++, else the largest small one."""
    if kernel.counters is not None and language is Language.CUDA:
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
    return by_size[max(small) if small else min(by_size)]


def _elements(assignment: Assignment, case: Case) -> int:
    signature = assignment.signature
    return sum(math.prod(signature.shape(array, case.sizes)) for array in signature.arrays)


def check_host_counters(
    setup: RunSetup, text: str, case: Prepared, terms: Terms
) -> CheckOutcome[CountersEvidence]:
    """Run a checked host build on one case; `text` is the student's file as rewritten.

    `setup` is of that build, whatever device the hand-in is graded on.
    """
    started_s = time.monotonic()
    settings = "schedule=forward counted_blocks=0"
    with Session(setup.built, setup.assignment.limits, None, host_settings=settings) as session:
        outcome = run_under_tool(setup, session, [case], setup.assignment.limits)
        session.finish(_FINISH_S)
        told = session.records()
    diagnosis, evidence = _host_outcome(setup, text, case[0], outcome, told, terms)
    return CheckOutcome(
        diagnosis=diagnosis, evidence=evidence, wall_s=round(time.monotonic() - started_s, 3)
    )


def _host_outcome(
    setup: RunSetup,
    text: str,
    case: Case,
    outcome: ToolOutcome,
    told: Sequence[Mapping[str, Any]],
    terms: Terms,
) -> tuple[Diagnosis, CountersEvidence | None]:
    """Decide: how the run ended, whether it proves anything, then the bounds."""
    if outcome.failure is not None:
        return _unproven(outcome.failure, terms), None
    try:
        counted = read_host(outcome.told, told, setup.built.path, setup.built.file, text)
    except ValueError:
        return Diagnosis(Verdict.TAMPERED, sentences.TAMPERED), None
    least = _least_bytes(setup, case)
    evidence = _evidence(HOST_TOOL, case, counted, sum(least), terms.bounds)
    if not counted.whole:
        cut = Diagnosis(Verdict.WRONG_ANSWER, sentences.CUT_OFF)
        return _unproven(cut, terms), evidence
    if counted.problem is not None:
        return Diagnosis(Verdict.NOT_MEASURED, counted.problem), evidence
    if outcome.wrong:
        wrong = Diagnosis(Verdict.WRONG_ANSWER, sentences.WRONG)
        return _unproven(wrong, terms), evidence
    missing = sentences.uncovered(
        counted.launches,
        read=(counted.moved_bytes("load", "atomic"), least[0]),
        written=(counted.moved_bytes("store", "atomic"), least[1]),
    )
    if missing and (terms.binding or not counted.lines):
        return _unproven(Diagnosis(Verdict.WRONG_ANSWER, missing), terms), evidence
    broken = [figure for figure in evidence.figures if not _kept(figure)]
    if broken and terms.binding:
        worst = max(broken, key=lambda figure: (figure.ratio or 0) / (figure.allowed or 1))
        message, hint = sentences.broken(worst, counted.lines, more=len(broken) - 1)
        return Diagnosis(Verdict.TOO_SLOW, message, hint=hint), evidence
    return Diagnosis(Verdict.ACCEPTED, sentences.told(evidence)), evidence


def not_built(rejected: Rejected, terms: Terms) -> CheckOutcome[CountersEvidence]:
    """Return the outcome without a checked host build; only a forbidden trick is blamed."""
    blamed = rejected.verdict is Verdict.FORBIDDEN and terms.binding
    verdict = Verdict.FORBIDDEN if blamed else Verdict.NOT_MEASURED
    return CheckOutcome(diagnosis=Diagnosis(verdict, rejected.message))


def check_interpreter_counters(
    setup: RunSetup, case: Prepared, kernel: Kernel
) -> CheckOutcome[CountersEvidence]:
    """Run a Triton hand-in on one case in the interpreter; no bound binds it."""
    started_s = time.monotonic()
    limits = setup.assignment.limits
    with Session(setup.built, limits, setup.server, watch_memory=True) as session:
        outcome = run_under_tool(setup, session, [case], limits)
    diagnosis, evidence = _interpreter_outcome(setup, case[0], outcome)
    if diagnosis.verdict is not Verdict.TAMPERED and CheckName.COUNTERS in kernel.points:
        message = f"{sentences.CUDA_ALONE}; {diagnosis.message}"
        diagnosis = Diagnosis(Verdict.ACCEPTED, message)
    wall_s = round(time.monotonic() - started_s, 3)
    return CheckOutcome(diagnosis=diagnosis, evidence=evidence, wall_s=wall_s)


def not_counted(kernel: Kernel) -> CheckOutcome[CountersEvidence]:
    """Return the outcome of a Triton hand-in on a GPU, where nobody counts."""
    if CheckName.COUNTERS in kernel.points:
        diagnosis = Diagnosis(Verdict.ACCEPTED, sentences.CUDA_ALONE)
    else:
        message = "Triton's accesses are counted on a processor only"
        diagnosis = Diagnosis(Verdict.NOT_MEASURED, message)
    return CheckOutcome(diagnosis=diagnosis)


def _interpreter_outcome(
    setup: RunSetup, case: Case, outcome: ToolOutcome
) -> tuple[Diagnosis, CountersEvidence | None]:
    if outcome.failure is not None:
        return _unproven(outcome.failure, Terms()), None
    try:
        counted = read_interpreter(outcome.told, setup.built.file)
    except ValueError:
        return Diagnosis(Verdict.TAMPERED, sentences.TAMPERED), None
    least = sum(_least_bytes(setup, case))
    evidence = _evidence(interpreter_findings.TOOL, case, counted, least, None)
    if outcome.wrong or not counted.lines:
        message = sentences.WRONG if outcome.wrong else sentences.NOTHING
        return _unproven(Diagnosis(Verdict.WRONG_ANSWER, message), Terms()), evidence
    return Diagnosis(Verdict.ACCEPTED, sentences.told(evidence)), evidence


def _unproven(diagnosis: Diagnosis, terms: Terms) -> Diagnosis:
    """Return what a run that proves nothing means for this hand-in."""
    if diagnosis.verdict.pending:
        return diagnosis
    if terms.binding and terms.stand_in:
        message = f"on the processor, where accesses are counted: {diagnosis.message}"
        return Diagnosis(Verdict.NOT_MEASURED, message)
    if terms.binding:
        return diagnosis
    return Diagnosis(Verdict.SKIPPED, f"not counted: {diagnosis.message}")


def _least_bytes(setup: RunSetup, case: Case) -> tuple[int, int]:
    """Return the bytes of the device arrays that are read, and of those that are written."""
    signature = setup.assignment.signature
    read = written = 0
    for array in signature.arrays:
        if array.memory is Memory.DEVICE:
            size = signature.element_type(array, setup.built.language).size
            size *= math.prod(signature.shape(array, case.sizes))
            read += size * array.role.read
            written += size * array.role.written
    return read, written


def _kept(figure: CounterFigure) -> bool:
    if figure.allowed is None or not figure.measured:
        return True
    return figure.measured <= figure.allowed * figure.least


def _evidence(
    tool: str, case: Case, counted: Counted, least_bytes: int, bounds: CounterBounds | None
) -> CountersEvidence:
    most = bounds.most if bounds is not None else {}

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
    )
