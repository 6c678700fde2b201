"""Count the memory accesses of one small case and compare them with the assignment's bounds.

    CUDA C++   the checked host build counts every block
    Triton     the executor of launches counts, with the layouts that the compiler for a GPU chose
    Numba      so does its executor, of PTX

None needs a GPU, and all are the same on a machine with one. In CUDA C++ the figures come from the
process that ran the submission and are not trusted by themselves. In every language they win
points only if the judge saw right outputs in the same run, and if the counted accesses are enough
to read and write every array once. A broken bound always costs the points.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from grader.assignment.cases import Case, CaseTemplate
from grader.assignment.counter_bounds import CountBound, CountName, FigureName, FigureUnit
from grader.assignment.dialects import dialect
from grader.assignment.model import Assignment, Kernel
from grader.build.artifact import Rejected
from grader.checks.check import CheckContext, CheckOutcome
from grader.checks.common.case_run import RunSetup
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.common.emulation_findings import TOOL as HOST_TOOL
from grader.checks.common.second_try import second_try
from grader.checks.common.small_case import small_case
from grader.checks.common.tool_run import Prepared, ToolOutcome, run_under_tool
from grader.checks.counters import messages
from grader.checks.counters.totals import AccessCounts, belongs, read_host
from grader.judge.session import Session
from grader.report.evidence import BoundedCount, CounterFigure, CountersEvidence
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName, Device, Language

SHOWN = 10
_FINISH_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterScoring:
    """How the figures of a submission count.

    `most` and `counts` are the bounds of its language; `scored` is true if they have points. With
    `graded_on_gpu`, a failure of the run on the CPU costs no points.
    """

    language: Language
    most: Mapping[FigureName, float] = field(default_factory=dict)
    counts: Mapping[CountName, CountBound] = field(default_factory=dict)
    scored: bool = False
    graded_on_gpu: bool = False

    @classmethod
    def of(cls, kernel: Kernel, language: Language, device: Device) -> CounterScoring:
        """Return the scoring of a kernel in a language that is graded on `device`."""
        bounds = kernel.counters
        return cls(
            language=language,
            most=bounds.of(language) if bounds is not None else {},
            counts=bounds.counts_of(language) if bounds is not None else {},
            scored=CheckName.COUNTERS in kernel.points,
            graded_on_gpu=device is Device.CUDA,
        )


def counting_case(
    assignment: Assignment,
    kernel: Kernel,
    language: Language,
    public_seed: int,
    rng: random.Random,
) -> Case:
    """Return the case to count: that of the spec's bounds, otherwise the largest small case.

    Sizes that are ranges are drawn from `rng`, so that no kernel can know them.

    Where the compiler splits wide accesses of others, a case of the dialect's multiples goes first.
    """
    if kernel.counters is not None:
        first = next((kind.word for kind in assignment.signature.dtypes), "")
        dtype = kernel.counters.dtype or first
        template = CaseTemplate(sizes=kernel.counters.sizes, dtype=dtype)
        return template.draw(rng.getrandbits(62))
    number = dialect(language).counted_multiples

    def even(case: Case) -> bool:
        return not any(value % number for value in case.sizes.values() if isinstance(value, int))

    if number == 1:
        return small_case(assignment, language, public_seed)
    return small_case(assignment, language, public_seed, preferred=even)


def counting(context: CheckContext) -> tuple[Case, CounterScoring]:
    """Return the case to count of a file, and how its figures count."""
    kernel, language = context.file.kernel, context.file.language
    rng = context.rng(CheckName.COUNTERS)
    case = counting_case(context.assignment, kernel, language, context.public_seed, rng)
    return case, CounterScoring.of(kernel, language, context.device)


def check_host_counters(
    setup: RunSetup,
    text: str,
    case: Prepared,
    scoring: CounterScoring,
    compiled: Mapping[CountName, int] | None = None,
) -> CheckOutcome[CountersEvidence]:
    """Run the checked host build of `setup` on one case.

    `text` is the rewritten source file; `compiled` are counts that a compiler for a GPU gave.
    """

    def run() -> tuple[ToolOutcome, tuple[dict[str, Any], ...]]:
        with Session(
            setup.built,
            setup.assignment.limits,
            None,
            host_settings="schedule=forward counted_blocks=0",
            budget=setup.budget,
        ) as session:
            outcome = run_under_tool(setup, session, [case], setup.assignment.limits)
            session.finish(_FINISH_S)
            return outcome, session.records()

    outcome, records = second_try(setup.budget, Device.CPU, run(), run, lambda one: one[0].failure)

    def read() -> AccessCounts:
        counted = read_host(outcome.records, records, setup.built, text)
        return replace(counted, counts={**counted.counts, **(compiled or {})})

    return judge_run(setup, case[0], outcome, scoring, HOST_TOOL, read)


def judge_run(
    setup: RunSetup,
    case: Case,
    outcome: ToolOutcome,
    scoring: CounterScoring,
    tool: str,
    read: Callable[[], AccessCounts],
) -> CheckOutcome[CountersEvidence]:
    """Decide by how the run ended, then whether it proves anything, then the bounds.

    `read` raises ValueError if a record is forged.
    """
    if outcome.failure is not None:
        return unproven(outcome.failure, scoring)
    try:
        counted = read()
    except ValueError:
        return CheckOutcome(diagnosis=Diagnosis(Verdict.TAMPERED, messages.TAMPERED))
    signature, language = setup.assignment.signature_of(case), setup.built.language
    least = signature.read_and_written_bytes(case.sizes, language)
    evidence = _evidence(tool, case, counted, sum(least), scoring)
    evidence = replace(evidence, operations=_operations(setup.assignment, case, language))
    if counted.complete and counted.problem is not None:
        diagnosis = Diagnosis(Verdict.NOT_MEASURED, counted.problem)
        return CheckOutcome(diagnosis=diagnosis, evidence=evidence)
    lacking = ""
    if not counted.complete:
        lacking = messages.INCOMPLETE
    elif outcome.wrong:
        lacking = messages.WRONG_OUTPUTS
    elif scoring.scored or not counted.lines:
        lacking = messages.missing_accesses(
            counted.launches,
            read=(counted.moved_bytes("load", "atomic"), least[0]),
            written=(counted.moved_bytes("store", "atomic"), least[1]),
        )
    if lacking:
        return unproven(Diagnosis(Verdict.WRONG_ANSWER, lacking), scoring, evidence)
    diagnosis = Diagnosis(Verdict.ACCEPTED, messages.summary(evidence))
    broken = sum(figure.broken for figure in evidence.figures)
    beyond = [one for one in evidence.counts if one.broken]
    uncounted = [one.name for one in evidence.counts if one.counted is None]
    if beyond and scoring.scored:
        message, hint = messages.broken_count(
            setup.built.file, beyond[0], more=len(beyond) + broken - 1
        )
        diagnosis = Diagnosis(Verdict.TOO_SLOW, message, hint=hint)
    elif broken and scoring.scored:
        message, hint = messages.broken_bound(
            _worst(evidence.figures), counted, scoring.language, more=broken - 1
        )
        diagnosis = Diagnosis(Verdict.TOO_SLOW, message, hint=hint)
    elif uncounted and scoring.scored:
        others = len(uncounted) < len(scoring.most) + len(scoring.counts)
        diagnosis = Diagnosis(Verdict.NOT_MEASURED, messages.uncounted(uncounted, others=others))
    return CheckOutcome(diagnosis=diagnosis, evidence=evidence)


def not_built(rejected: Rejected, scoring: CounterScoring) -> CheckOutcome[CountersEvidence]:
    """Return the outcome without a checked host build; only a forbidden construct costs points."""
    forbidden = rejected.verdict is Verdict.FORBIDDEN and scoring.scored
    verdict = Verdict.FORBIDDEN if forbidden else Verdict.NOT_MEASURED
    return CheckOutcome(diagnosis=Diagnosis(verdict, rejected.message))


def unproven(
    diagnosis: Diagnosis, scoring: CounterScoring, evidence: CountersEvidence | None = None
) -> CheckOutcome[CountersEvidence]:
    """Return the outcome of the check for a run that proves nothing."""
    if diagnosis.verdict.pending:
        diagnosis = replace(diagnosis, hint="")  # a machine with a GPU counts no other way
    elif scoring.scored and scoring.graded_on_gpu:
        message = f"in the run on the CPU, which counts accesses: {diagnosis.message}"
        diagnosis = Diagnosis(Verdict.NOT_MEASURED, message)
    elif not scoring.scored:
        diagnosis = Diagnosis(Verdict.SKIPPED, f"not counted: {diagnosis.message}")
    return CheckOutcome(diagnosis=diagnosis, evidence=evidence)


def _worst(figures: Sequence[CounterFigure]) -> CounterFigure:
    """Return the figure that is furthest beyond its bound, any if none is."""
    beyond = {one: (one.ratio or 0) / (one.allowed or 1) for one in figures if one.broken}
    return max(beyond, key=beyond.__getitem__, default=figures[0])


def _evidence(
    tool: str,
    case: Case,
    counted: AccessCounts,
    least_bytes: int,
    scoring: CounterScoring,
) -> CountersEvidence:
    def figure(name: FigureName, unit: FigureUnit, measured: int, least: int) -> CounterFigure:
        ratio = round(measured / least, 4) if measured and least else None
        return CounterFigure(
            name=name,
            unit=unit,
            measured=measured,
            least=least,
            ratio=ratio,
            allowed=scoring.most.get(name),
        )

    figures = (
        figure("load_sectors", "sectors", *counted.sums("load_sectors")),
        figure("store_sectors", "sectors", *counted.sums("store_sectors")),
        figure("shared_wavefronts", "wavefronts", *counted.sums("shared_wavefronts")),
        figure("traffic", "bytes", counted.moved_bytes("load", "store", "atomic"), least_bytes),
    )
    lines = sorted(counted.lines, key=lambda line: (line.least - line.transactions, line.line or 0))
    if _worst(figures).name == "traffic":
        lines.sort(key=lambda line: line.transactions * belongs(line, "traffic"), reverse=True)
    return CountersEvidence(
        tool=tool,
        case=case.name,
        launches=counted.launches,
        figures=figures,
        lines=tuple(lines[:SHOWN]),
        lines_total=len(lines),
        warps=counted.warps,
        asked_bytes=counted.asked_bytes,
        resources=counted.resources,
        counts=tuple(
            BoundedCount(
                name=name,
                counted=counted.counts.get(name),
                at_least=bound.least,
                at_most=bound.most,
            )
            for name, bound in scoring.counts.items()
        ),
    )


def _operations(assignment: Assignment, case: Case, language: Language) -> int | None:
    """Return the operations of a case, by the benchmarks' expression; None if there is none."""
    stated = next((one.flops for one in assignment.benchmarks if one.flops is not None), None)
    if stated is None:
        return None
    signature = assignment.signature_of(case)
    size = signature.element_type(signature.arrays[0], language).size
    return int(stated.evaluate({**case.sizes, "size": size}))
