"""The page: what a student may see of each check, with its figures.

Cases that are not visible show only their number, verdicts and largest error, as in every format
for students (`student_view`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from grader.checks.registry import named
from grader.formats import student_view
from grader.formats.case_lines import summary_of_hidden
from grader.formats.details import headline, points_text
from grader.formats.html import (
    error_map,
    findings,
    ladder,
    occupancy,
    roofline,
    timing,
    traffic,
    warp_access,
    writers,
)
from grader.formats.html.environment import environment
from grader.formats.html.findings import Card
from grader.formats.html.panel import Panel, plural
from grader.formats.html.source import Excerpt, excerpts
from grader.formats.leading_diagnosis import leading_diagnosis
from grader.report.evidence import (
    BuildEvidence,
    CaseResult,
    CorrectnessEvidence,
    CountersEvidence,
    Diagnostic,
    MemoryEvidence,
    Origin,
    PerformanceEvidence,
    ProgramEvidence,
    ProgramRun,
    WarpAccess,
)
from grader.report.model import CheckResult, KernelResult, Report
from grader.report.verdict import Verdict
from grader.text.numbers import points
from grader.text.sizes import case_text
from grader.vocabulary import Device, Visibility

MOST_KERNELS = 60
MOST_CASES = 6
MOST_MISMATCHES = 8
MOST_FINDINGS = 10
MOST_DIAGNOSTICS = 10
MOST_OUTPUT = 4_000  # characters of what the student's code printed
_MOST_WARNINGS = 3  # if the check is accepted
_MOST_LAUNCHES = 3
_ORIGINS: dict[Origin, str] = {
    "judge": "seen by the grader itself",
    "worker": "reported by the process that ran your code; it wins no points by itself",
    "compiler": "from the build tool",
}
_SHOWN_ENVIRONMENT = (
    ("device", "device"),
    ("gpu", "GPU"),
    ("compute_capability", "compute capability"),
    ("target", "compiled for"),
    ("cpu", "CPU"),
    ("driver", "driver"),
    ("nvcc", "nvcc"),
    ("host_compiler", "host compiler"),
    ("torch", "torch"),
    ("triton", "Triton"),
    ("grader", "grader"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table; the first `text` columns are text, the others are numbers."""

    text: int = 1
    caption: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompilerMessage:
    """One message of a compiler, with its source lines."""

    severity: str
    place: str
    text: str
    more: str
    excerpts: tuple[Excerpt, ...]


@dataclass(slots=True, kw_only=True)
class CheckView:
    """One check: its row in the kernel's table, and what is below it."""

    anchor: str
    name: str
    verdict: Verdict
    points: str
    message: str
    hint: str = ""
    origin: str = ""
    notes: list[str] = field(default_factory=list)
    failed_cases: list[tuple[str, str]] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    messages: list[CompilerMessage] = field(default_factory=list)
    cards: list[Card] = field(default_factory=list)
    panels: list[Panel] = field(default_factory=list)
    output_title: str = ""
    output: str = ""

    @property
    def is_drawn(self) -> bool:
        """True if there is a figure, or source lines."""
        drawn = any(card.is_drawn for card in self.cards)
        return bool(self.panels or drawn or any(one.excerpts for one in self.messages))

    @property
    def has_details(self) -> bool:
        """True if there is anything below the check's row."""
        return bool(
            self.hint
            or self.notes
            or self.failed_cases
            or self.tables
            or self.messages
            or self.cards
            or self.panels
            or self.output
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """The requests of the kernel before in the ladder, in the same language; none for the first."""

    name: str = ""
    warps: tuple[WarpAccess, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelView:
    """One kernel in one language."""

    anchor: str
    name: str
    title: str
    language: str
    file: str
    verdict: Verdict
    points: str
    note: str
    lead: str
    lead_place: str
    hint: str
    checks: tuple[CheckView, ...]


def document(report: Report) -> str:
    """Return the page. It is complete in itself and contains nothing that runs."""
    template = environment().get_template("page.html")
    absent = [one for one in report.kernels if one.verdict is Verdict.NOT_SUBMITTED]
    return template.render(
        report=report,
        result=student_view.result(report).split("\n"),
        won=_won(report.score, report.max_score),
        device=_device(report),
        kernels=kernel_views(report),
        absent=[(one.name, one.checks[0].message if one.checks else "") for one in absent],
        left_out=max(0, len(report.kernels) - MOST_KERNELS),
        ladders=ladder_panels(report),
        environment=[
            (label, value)
            for key, label in _SHOWN_ENVIRONMENT
            if (value := report.environment.get(key)) is not None
        ],
    )


def kernel_views(report: Report) -> list[KernelView]:
    """Return the kernels that were handed in."""
    kernels = report.kernels[:MOST_KERNELS]
    names = [kernel.name for kernel in report.kernels]
    return [
        _kernel(
            kernel,
            f"k{number}",
            _before(kernels[: number - 1], kernel),
            twice=names.count(kernel.name) > 1,
        )
        for number, kernel in enumerate(kernels, 1)
        if kernel.verdict is not Verdict.NOT_SUBMITTED
    ]


def ladder_panels(report: Report) -> list[Panel]:
    """Return the figures that compare the kernels."""
    return [*ladder.panels(report.kernels), *_present([roofline.panel(report)])]


def _device(report: Report) -> str:
    device = report.environment.get("device")
    if device == Device.CUDA.value:
        return f"Run on {report.environment.get('gpu') or 'a GPU'}."
    if device == Device.CPU.value:
        return "Run on the processor: results and accesses are checked, speed needs a GPU."
    return ""


def _won(score: float | None, most: float) -> str:
    if score is None:
        return "no score"
    return f"{points(score)} of {points(most)} points"


def _kernel(kernel: KernelResult, anchor: str, before: Before, *, twice: bool) -> KernelView:
    won = _won(kernel.score, kernel.max_score) if kernel.max_score else ""
    if kernel.pending:
        won += f", {points(kernel.pending)} pending"
    lead = leading_diagnosis(kernel)
    shown = lead.shown if lead is not None else None
    place = f"{shown.file}:{shown.line}" if shown is not None and shown.line is not None else ""
    checks = [
        _check(kernel, check, f"{anchor}c{number}", before)
        for number, check in enumerate(kernel.checks, 1)
    ]
    above = lead.hint if lead is not None else ""
    for view in checks:
        view.hint = "" if view.hint == above else view.hint
        view.cards = [replace(one, hint="") if one.hint == above else one for one in view.cards]
    return KernelView(
        anchor=anchor,
        name=kernel.name,
        title=kernel.title,
        language=kernel.language.phrase if kernel.language else "",
        file=kernel.file or "",
        verdict=kernel.verdict,
        points=won,
        note=("counted" if kernel.counted else "the other language counts") if twice else "",
        lead=lead.message.removeprefix(f"{place}: ") if lead is not None else "",
        lead_place=place,
        hint=above,
        checks=tuple(checks),
    )


def _check(kernel: KernelResult, check: CheckResult, anchor: str, before: Before) -> CheckView:
    visible = check.visibility is Visibility.VISIBLE
    view = CheckView(
        anchor=anchor,
        name=check.name,
        verdict=check.verdict,
        points=points_text(check),
        message=headline(check) if visible else summary_of_hidden(check),
    )
    if not visible:
        return view
    if check.verdict is not Verdict.ACCEPTED:
        view.hint = check.hint
    evidence = check.evidence
    if evidence is not None:
        view.origin = _ORIGINS.get(getattr(evidence, "origin", "judge"), "")
    failed = check.verdict is not Verdict.ACCEPTED
    if isinstance(evidence, BuildEvidence):
        _build(view, evidence, kernel, failed=failed)
    elif isinstance(evidence, CorrectnessEvidence):
        _cases(view, evidence)
    elif isinstance(evidence, MemoryEvidence):
        _memory(view, evidence, kernel, check)
    elif isinstance(evidence, PerformanceEvidence):
        _performance(view, evidence)
    elif isinstance(evidence, CountersEvidence):
        _counters(view, evidence, before)
    elif isinstance(evidence, ProgramEvidence):
        if failed:
            _program(view, evidence)
    elif evidence is not None:
        view.notes += named(check.check).lines(evidence)
    return view


def _before(earlier: Sequence[KernelResult], kernel: KernelResult) -> Before:
    for one in reversed(earlier):
        counted = next(ladder.evidence_of(one, CountersEvidence), None)
        if one.language is kernel.language and counted is not None and counted.warps:
            return Before(name=one.name, warps=counted.warps)
    return Before()


def _build(view: CheckView, evidence: BuildEvidence, kernel: KernelResult, *, failed: bool) -> None:
    # The first error is the one to fix: show errors before warnings.
    ordered = sorted(evidence.diagnostics, key=lambda found: found.severity != "error")
    most = MOST_DIAGNOSTICS if failed else _MOST_WARNINGS
    view.messages = [_message(found, kernel) for found in ordered[:most]]
    _left_out(view, evidence.diagnostics_total, len(ordered), len(view.messages))
    if failed and not ordered:
        view.output_title = "Build log"
        view.output = evidence.output.strip()[:MOST_OUTPUT]


def _message(found: Diagnostic, kernel: KernelResult) -> CompilerMessage:
    numbers = (found.line, found.column) if found.line is not None else ()
    place = ":".join([found.file, *(str(number) for number in numbers if number is not None)])
    first, *more = found.message.removeprefix(f"{place}: ").strip("\r\n").splitlines() or [""]
    marks = {found.line: found.severity} if found.line is not None else {}
    return CompilerMessage(
        severity=found.severity,
        place=place,
        text=first,
        more="\n".join(more[:6]),
        excerpts=excerpts(kernel.source_lines, marks),
    )


def _present(panels: Iterable[Panel | None]) -> list[Panel]:
    return [panel for panel in panels if panel is not None]


def _left_out(view: CheckView, total: int, listed: int, shown: int) -> None:
    if (more := max(total, listed) - shown) > 0:
        view.notes.append(f"and {more:,} more")


def _cases(view: CheckView, evidence: CorrectnessEvidence) -> None:
    well = (Verdict.ACCEPTED, Verdict.SKIPPED)
    failed = [case for case in evidence.cases if case.verdict not in well]
    view.failed_cases = [
        (case_text(case.name, case.sizes, case.title), _what_failed(case))
        for case in failed[:MOST_CASES]
    ]
    if len(failed) > MOST_CASES:
        more = len(failed) - MOST_CASES
        view.failed_cases.append((plural(more, "more case"), "wrong as well, or failed"))
    if not_run := evidence.cases_total - len(evidence.cases):
        view.notes.append(f"{not_run:,} cases did not run")
    mapped = next((case for case in failed if case.error_map is not None), None)
    shown = mapped or next((case for case in failed if case.mismatches), None)
    if shown is not None and shown.hint and shown.hint != view.hint:
        view.notes.append(shown.hint)
    if shown is not None:
        view.panels += _present([error_map.panel(shown)])
        view.tables += _mismatches(shown)
    if failed or evidence.output.strip():
        view.output_title = "What your code printed"
        view.output = evidence.output.strip("\n")[:MOST_OUTPUT]


def _what_failed(case: CaseResult) -> str:
    text = f"{case.verdict.phrase}: {case.message}" if case.message else case.verdict.phrase
    if case.mismatched and case.max_error is not None:
        text += f"; largest error {case.max_error:.3g}"
    return text


def _mismatches(case: CaseResult) -> list[Table]:
    rows = []
    for found in case.mismatches[:MOST_MISMATCHES]:
        index = ", ".join(map(str, found.index))
        expected, actual = f"{found.expected:.7g}", f"{found.actual:.7g}"
        if expected == actual:
            expected, actual = repr(found.expected), repr(found.actual)
        rows.append((f"{found.output}[{index}]", expected, actual, f"{found.allowed:.3g}"))
    header = ("element", "expected", "actual", "allowed difference")
    caption = f"The first wrong elements of case {case_text(case.name, case.sizes)}"
    return [Table(caption=caption, header=header, rows=rows)] if rows else []


def _memory(
    view: CheckView, evidence: MemoryEvidence, kernel: KernelResult, check: CheckResult
) -> None:
    failed = check.verdict is not Verdict.ACCEPTED
    shown = evidence.findings[: MOST_FINDINGS if failed else _MOST_WARNINGS]
    view.cards = [findings.card(found, kernel.source_lines) for found in shown]
    _left_out(view, evidence.findings_total, len(evidence.findings), len(shown))
    if any(found.hint == view.hint for found in shown):
        view.hint = ""  # it is on the card
    problems: dict[str, list[str]] = {}
    for tool in evidence.tools:
        if tool.problem is not None and tool.problem != check.message:
            problems.setdefault(tool.problem, []).append(tool.tool)
    view.notes += [f"not run: {', '.join(tools)}: {why}" for why, tools in problems.items()]
    view.panels += _present(map(writers.panel, evidence.writers))
    # An accepted check's output repeats that of the correctness check.
    if failed and evidence.output.strip():
        view.output_title = "What your code printed"
        view.output = evidence.output.strip("\n")[:MOST_OUTPUT]


def _performance(view: CheckView, evidence: PerformanceEvidence) -> None:
    view.panels += timing.panels(evidence)
    if rows := timing.table(evidence):
        header = ("benchmark", "torch", "yours", "times torch", "rate", "of roofline", "rounds")
        view.tables.append(Table(caption="The medians of each benchmark", header=header, rows=rows))
    if state := timing.conditions(evidence):
        caption = "The GPU afterwards"
        view.tables.append(Table(caption=caption, header=("what", "value"), rows=state))


def _counters(view: CheckView, evidence: CountersEvidence, before: Before) -> None:
    view.panels += _present([traffic.panel(evidence)])
    view.panels += warp_access.panels(evidence.warps, before.warps, before.name)
    view.panels += _present(map(occupancy.panel, evidence.resources[:_MOST_LAUNCHES]))
    if rows := traffic.lines(evidence):
        header = ("line", "access", "requests", "per request", "would do", "times")
        caption = "The costliest lines first"
        view.tables.append(Table(text=2, caption=caption, header=header, rows=rows))


def _program(view: CheckView, evidence: ProgramEvidence) -> None:
    view.notes += [f"run {number}, {_run(run)}" for number, run in enumerate(evidence.runs, 1)]
    if evidence.runs:
        view.output_title = "What the last run printed"
        view.output = evidence.runs[-1].output.strip("\n")[-MOST_OUTPUT:]


def _run(run: ProgramRun) -> str:
    setup = "an output changed" if run.changed else "nothing changed"
    if run.exit_code is not None:
        return f"{setup}: exit code {run.exit_code}"
    ended = run.verdict.phrase if run.signal is None else f"ended by signal {run.signal}"
    return f"{setup}: {ended}"
