"""The report for a student at a terminal, or in the log of a CI run.

    SiLU (silu) on the CPU                                     assignment and device
    silu · CUDA C++ · silu.cu: wrong answer, 0 / 60 points     a kernel in a language
      correctness  wrong answer  0 / 40  6 of 9 cases …        a check
        …                                                      its details
    wrong answer · 0 / 60 points · …                           the last line: the result

Colour repeats what the words say; nothing is shown by colour, box or symbol alone.
An accepted check without warnings is one line. In a pipe a finding is one line, too, in the form
of a compiler: path, line, column, severity, words.
"""

from __future__ import annotations

from collections.abc import Mapping

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from grader.formats.case_lines import summary_of_hidden
from grader.formats.deduplication import Deduplicator
from grader.formats.details import (
    headline,
    points_text,
    write_details,
    write_diagnostic,
    write_finding,
)
from grader.formats.leading_diagnosis import leading_diagnosis
from grader.formats.page import Page, Piece
from grader.report.evidence import Diagnostic, Finding
from grader.report.model import CheckResult, KernelResult, Report
from grader.report.verdict import Verdict
from grader.text.numbers import points
from grader.vocabulary import CheckName, Device, Visibility

MOST_LABEL = 32


def print_report(
    report: Report,
    console: Console,
    *,
    show_hidden: bool = True,
    width: int | None = None,
    paths: Mapping[str, str] | None = None,
) -> None:
    """Print the report.

    With `show_hidden=False`, checks that are not visible to students show only their
    verdict, points, and the number and errors of failed cases. `width` and `paths` are those of
    `Page`.
    """
    page = Page(console, width=width, paths=paths)
    _head(page, report)
    names = [kernel.name for kernel in report.kernels]
    columns = _Columns(page, report)
    for kernel in report.kernels:
        twice = names.count(kernel.name) > 1
        # Put a blank line after a kernel with details only.
        if _kernel(page, kernel, columns, twice=twice, show_hidden=show_hidden):
            page.blank()
    if page.lines[-1].plain:
        page.blank()
    _result(page, report, show_hidden=show_hidden)
    page.print()


def _head(page: Page, report: Report) -> None:
    title = report.title or report.assignment
    name = "" if title == report.assignment else f" ({report.assignment})"
    gpu, device = report.environment.get("gpu"), report.environment.get("device")
    where = {"cpu": " on the CPU", "cuda": f" on {gpu or 'the GPU'}"}.get(str(device), "")
    page.sentence((title, "bold"), f"{name}{where}", most=2)


class _Columns:
    """The widths that all rows share."""

    def __init__(self, page: Page, report: Report) -> None:
        kernels = [kernel for kernel in report.kernels if _absence(kernel) is None]
        checks = [c for kernel in kernels for c in kernel.checks if not _elsewhere(c)]
        self.label = max((cell_len(_label(page, check)) for check in checks), default=0)
        self.verdict = max((len(check.verdict.phrase) for check in checks), default=0)
        self.points = max((len(points_text(check)) for check in checks), default=0)


def _kernel(
    page: Page, kernel: KernelResult, columns: _Columns, *, twice: bool, show_hidden: bool
) -> bool:
    """Add the kernel's lines; return whether a check has details."""
    parts = [kernel.name, kernel.language.phrase if kernel.language else "", kernel.file or ""]
    counts = ""
    if twice:
        counts = ", counted" if kernel.counted else ", not counted"
    parts = [page.clipped(part, 40) for part in parts if part]
    won = f", {_won(kernel)}" if kernel.max_score else ""
    if kernel.pending:
        won += f", {points(kernel.pending)} pending"
    absence = _absence(kernel)
    why = "" if absence is None else f": {absence.message}"
    counts += ", bonus" if kernel.bonus else ""
    title = (" · ".join(parts), "bold")
    page.sentence(title, ": ", _verdict(kernel.verdict), f"{won}{counts}{why}")
    if absence is not None:
        return False
    deduplicator = Deduplicator(page)
    lead = leading_diagnosis(kernel)
    if lead is not None:
        if isinstance(lead.shown, Finding):
            write_finding(page, lead.shown, indent=2, most=3)
        elif isinstance(lead.shown, Diagnostic):
            write_diagnostic(page, lead.shown, indent=2)
        else:
            page.sentence((lead.message, "bold"), indent=2, most=3)
        deduplicator.hint(lead.hint, indent=4)
        deduplicator.lead(lead.message, lead.shown)
    detailed = False
    hidden = next(filter(_elsewhere, kernel.checks), None)
    for check in kernel.checks:
        if check is hidden:
            continue
        shown = show_hidden or check.visibility is Visibility.VISIBLE
        more = hidden if check.check is CheckName.CORRECTNESS else None
        _check(page, check, columns, deduplicator, shown=shown, more=more)
        before = len(page.lines)
        if shown:
            write_details(page, check, deduplicator)
        detailed |= len(page.lines) > before
    return detailed


def _absence(kernel: KernelResult) -> CheckResult | None:
    """Return the only line of a kernel of which nothing was graded, for one and the same reason."""
    first, *others = kernel.checks or (None,)
    if first is None or first.verdict not in (Verdict.NOT_SUBMITTED, Verdict.NOT_MEASURED):
        return None
    plain = first.visibility is Visibility.VISIBLE and not (first.hint or first.evidence)
    alike = (other.message == first.message and other.verdict is first.verdict for other in others)
    return first if plain and all(alike) else None


def _elsewhere(check: CheckResult) -> bool:
    """True for hidden cases that only the course has: the row of the visible ones shows them."""
    hidden = check.visibility is Visibility.HIDDEN and check.evidence is None
    return hidden and check.check is CheckName.CORRECTNESS and check.verdict.pending


def _check(
    page: Page,
    check: CheckResult,
    columns: _Columns,
    deduplicator: Deduplicator,
    *,
    shown: bool,
    more: CheckResult | None,
) -> None:
    label = _label(page, check)
    phrase, style = _verdict(check.verdict)
    message = headline(check) if shown else summary_of_hidden(check)
    message = deduplicator.unless_lead(message)
    if more is not None and more.pending:
        what = "point" if more.pending == 1 else "points"
        message += f" · {points(more.pending)} more {what} in hidden cases, graded by the course"
    lead = Text.assemble(
        f"  {label}{' ' * (columns.label - cell_len(label))}  ",
        (phrase, style),
        " " * (columns.verdict - len(phrase)),
        f"  {points_text(check):>{columns.points}}  ",
    )
    page.row(lead, message)


def _label(page: Page, check: CheckResult) -> str:
    named = check.visibility.value.split("_")[0] in check.name
    if check.visibility is Visibility.VISIBLE or named:
        return page.clipped(check.name, MOST_LABEL)
    return page.clipped(f"{check.name} ({check.visibility.value.replace('_', ' ')})", MOST_LABEL)


def _won(entry: KernelResult | Report) -> str:
    if entry.score is None:
        return "no score"
    if isinstance(entry, Report) and not entry.max_score and any(k.bonus for k in entry.kernels):
        return f"{points(entry.score)} bonus points"
    return f"{points(entry.score)} / {points(entry.max_score)} points"


def _verdict(verdict: Verdict) -> tuple[str, str]:
    if verdict is Verdict.ACCEPTED:
        return verdict.phrase, "bold green"
    if verdict is Verdict.GRADER_ERROR:
        return verdict.phrase, "bold magenta"
    if verdict.judged and verdict is not Verdict.INCONCLUSIVE:
        return verdict.phrase, "bold red"
    return verdict.phrase, "bold yellow"


def _result(page: Page, report: Report, *, show_hidden: bool) -> None:
    parts: list[Piece] = [_verdict(report.verdict)]
    parts.append(f" · {_won(report)}")
    if report.score is None:
        parts.append(": the grader failed, which is not your fault")
    if report.pending:
        why = _why_pending(page, report, show_hidden=show_hidden)
        parts.append(f" · {points(report.pending)} pending{why}")
    parts.append(f" · {report.handed_in} of {report.kernels_total} handed in")
    parts.append(f" · {report.wall_s:.1f} s")
    page.sentence(*parts)
    if report.pending:
        page.sentence(_pending_note(report))
    if report.filtered:
        page.sentence("Only a part of the assignment was graded: this is not the whole score.")


def _pending_note(report: Report) -> str:
    """Return what pending points mean, and what they wait for."""
    note = "Pending points are neither won nor lost"
    checks = [check for kernel in report.kernels if kernel.counted for check in kernel.checks]
    untimed = any(check.pending and check.check is CheckName.PERFORMANCE for check in checks)
    if untimed and report.environment.get("device") == Device.CPU.value:
        return f"{note}: a GPU has to time the kernel, yours or your course's."
    return f"{note}."


def _why_pending(page: Page, report: Report, *, show_hidden: bool) -> str:
    reasons = [
        page.clipped(check.message, 50)
        for kernel in report.kernels
        if kernel.counted
        for check in kernel.checks
        if check.pending and (show_hidden or check.visibility is Visibility.VISIBLE)
    ]
    return f": {'; '.join(dict.fromkeys(reasons))}" if any(reasons) else ""
