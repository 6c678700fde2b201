"""What a student may see of a report, as plain text for the results of platforms.

Every string is safe to print and fits in a mail: control characters are escaped,
long lines cut, long output shortened in the middle. Cases that are not visible
show only their number, verdicts and largest error.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from rich.console import Console

from grader.formats.case_lines import summary_of_hidden, write_cases
from grader.formats.deduplication import Deduplicator
from grader.formats.details import headline, write_details
from grader.formats.page import PLATFORM_WIDTH, Page
from grader.report.evidence import CaseResult, CorrectnessEvidence
from grader.report.model import CheckResult, KernelResult, Report
from grader.report.verdict import Verdict
from grader.text.numbers import points
from grader.text.printable import one_line, printable
from grader.vocabulary import CheckName, Visibility

MOST_NAME = 120
MOST_TEXT = 16_000  # characters of one check: some 150 lines
_CUT = "\n... (the rest is cut)"
# What XML 1.0 forbids and `printable` keeps: surrogates, and the last two code points of a plane.
_NOT_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleCheck:
    """One check as a student sees it.

    `number` is "kernel.check", both from 1. `decided` is the number of points that
    are not pending; `score` is how many of them the student has, None if the grader
    failed or if the kernel's other language counts. `text` is the check's verdict,
    message and details.
    """

    kernel: KernelResult
    check: CheckResult
    number: str
    name: str
    score: float | None
    decided: float
    text: str


def checks(report: Report) -> Iterator[VisibleCheck]:
    """Yield the checks, kernel by kernel; a kernel that was not submitted has a single one.

    Flags without a broken rule are left out: they are for staff.
    """
    names = [kernel.name for kernel in report.kernels]
    for first, kernel in enumerate(report.kernels, 1):
        for second, check in enumerate(kernel.checks, 1):
            if _has_only_flags(check):
                continue
            absent = check.verdict is Verdict.NOT_SUBMITTED
            name = f"{label(kernel)} · {'not handed in' if absent else check.name}"
            if names.count(kernel.name) > 1 and not kernel.counted:
                name += " (the other language counts)"
            if check.pending and kernel.counted:
                name += f" ({points(check.pending)} points pending)"
            yield VisibleCheck(
                kernel=kernel,
                check=check,
                number=f"{first}.{second}",
                name=safe_line(name, MOST_NAME),
                score=check.score if kernel.counted else None,
                decided=_decided(kernel, check),
                text=visible_text(check),
            )


def _has_only_flags(check: CheckResult) -> bool:
    return check.check is CheckName.RULES and check.visibility is Visibility.HIDDEN


def without_flags(report: Report) -> Report:
    """Return the report without the lines that have nothing but flags for staff."""
    kernels = tuple(
        replace(kernel, checks=tuple(one for one in kernel.checks if not _has_only_flags(one)))
        for kernel in report.kernels
    )
    return replace(report, kernels=kernels)


def revealed(report: Report, shown: Collection[Visibility]) -> Report:
    """Return the report with the checks of these visibilities as visible ones."""

    def of(check: CheckResult) -> CheckResult:
        return replace(check, visibility=Visibility.VISIBLE) if check.visibility in shown else check

    kernels = tuple(
        replace(kernel, checks=tuple(map(of, kernel.checks))) for kernel in report.kernels
    )
    return replace(report, kernels=kernels) if shown else report


def _decided(kernel: KernelResult, check: CheckResult) -> float:
    if not kernel.counted:
        return 0.0
    if check.verdict is Verdict.NOT_SUBMITTED:  # the kernel's only check
        return kernel.max_score
    return round(check.max_score - check.pending, 2)


def label(kernel: KernelResult) -> str:
    """Return "silu · CUDA C++", or only the name if the kernel was not submitted."""
    language = f" · {kernel.language.phrase}" if kernel.language else ""
    return f"{kernel.name}{language}"


def visible_text(check: CheckResult) -> str:
    """Return what a student may read about the check."""
    page = Page(Console(file=io.StringIO()), width=PLATFORM_WIDTH)
    if check.visibility is Visibility.VISIBLE:
        page.sentence(f"{check.verdict.phrase}: {headline(check)}", hanging=0)
        write_details(page, check)
    else:
        page.sentence(f"{check.verdict.phrase}: {summary_of_hidden(check)}", hanging=0)
    return safe("\n".join(line.plain for line in page.lines))


def visible_case(check: CheckResult, evidence: CorrectnessEvidence, case: CaseResult) -> str:
    """Return what a student may read about one visible case of a check with this evidence."""
    page = Page(Console(file=io.StringIO()), width=PLATFORM_WIDTH)
    alone = replace(evidence, cases=(case,), cases_total=1)
    write_cases(page, alone, Deduplicator(page), replace(check, hint=""))
    return safe(textwrap.dedent("\n".join(line.plain for line in page.lines)))


def result(report: Report) -> str:
    """Return the result in a few lines: verdict, points, what is pending and why."""
    lines = [f"{report.title or report.assignment}: {report.verdict.phrase}"]
    if report.score is None:
        lines[0] += ": the grader failed, which is not your fault; there is no score"
    else:
        lines[0] += f", {points(report.score)} of {points(report.max_score)} points"
    lines[0] += f"; {report.handed_in} of {report.kernels_total} handed in"
    if report.pending:
        lines.append(pending(report))
    if report.filtered:
        lines.append("Only a part of the assignment was graded: this is not the whole score.")
    return safe("\n".join(one_line(line) for line in lines))


def pending(report: Report) -> str:
    """Return how many points are pending, why, and how they get graded."""
    reasons = dict.fromkeys(
        one_line(check.message)[:MOST_NAME]
        for kernel in report.kernels
        if kernel.counted
        for check in kernel.checks
        if check.pending and check.visibility is Visibility.VISIBLE
    )
    why = f" ({'; '.join(list(reasons)[:3])})" if reasons else ""
    return (
        f"{points(report.pending)} points are pending, neither won nor lost{why}. "
        "Your course's staff can have them graded on a GPU and add them with `grade merge`."
    )


def failed(check: CheckResult) -> bool:
    """True if the check was judged and earns no points."""
    return check.verdict.judged and not check.verdict.earns_points


def safe(text: str, most: int = MOST_TEXT) -> str:
    """Return at most `most` characters, without control characters except line feeds."""
    shown = _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", printable(text[: 4 * most]))
    return shown if len(shown) <= most else shown[: most - len(_CUT)] + _CUT


def safe_line(text: str, most: int = MOST_NAME) -> str:
    """Return the text on one line of at most `most` characters, without control characters."""
    shown = " ".join(safe(text, 4 * most).split())
    return shown if len(shown) <= most else shown[: most - 3] + "..."


def status(check: CheckResult) -> str | None:
    """Return "passed" or "failed"; None if nothing was judged."""
    if check.verdict.earns_points:
        return "passed"
    if failed(check) or check.verdict in (Verdict.SKIPPED, Verdict.NOT_SUBMITTED):
        return "failed"
    return None
