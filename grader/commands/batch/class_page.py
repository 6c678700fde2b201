"""The class as a page, `index.html` in the output folder, and the page of each submission.

The page is for staff. It is static, loads nothing and runs nothing: the filters are radio buttons
and CSS. It links to `pages/ASSIGNMENT/NAME.html`, the page that a student may see.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from grader.assignment.model import Assignment
from grader.commands.batch.failures import Failure
from grader.commands.batch.store import Store
from grader.commands.batch.submissions import ClassFolder
from grader.commands.batch.summary import Points, Summary
from grader.formats.html.document import document
from grader.formats.html.environment import environment, tone
from grader.formats.html.panel import WIDTH, plural
from grader.report.reader import read_report
from grader.report.verdict import Verdict
from grader.text.numbers import points as as_points

PAGE = "index.html"
_BINS = 10
_LEFT, _RIGHT, _TOP, _BOTTOM = 12.0, WIDTH - 12.0, 26.0, 130.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a bar: how many checks ended with this verdict."""

    x: float
    width: float
    tone: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRow:
    """One check of one kernel over the class."""

    kernel: str
    check: str
    parts: tuple[Part, ...]
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRow:
    """One of the commonest failures, with the verdict and a link to the example's kernel."""

    failure: Failure
    verdict: Verdict
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionRow:
    """One submission: the verdict is None if it has no report; `remark` is for a human."""

    name: str
    link: str
    verdict: Verdict | None
    points: str
    failed: str
    remark: str

    @property
    def classes(self) -> str:
        """The classes by which the filters select it."""
        kinds = [self.verdict.value if self.verdict is not None else "ungraded"]
        return " ".join(kinds + ["human"] * bool(self.remark))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """A bar of the histogram."""

    x: float
    y: float
    width: float
    height: float
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """The points of an assignment; `median_x` is None without a report."""

    bins: tuple[Bin, ...]
    median_x: float
    most: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentView:
    """One assignment of the class."""

    name: str
    title: str
    histogram: Histogram | None
    checks: tuple[CheckRow, ...]
    failures: tuple[FailureRow, ...]
    filters: tuple[tuple[str, str, int], ...]  # class, label, count
    rows: tuple[SubmissionRow, ...]


def write_pages(
    store: Store, folder: ClassFolder, assignments: Sequence[Assignment], summary: Summary
) -> None:
    """Write the page of each submission that has none for its report, and that of the class.

    Raises GraderError on a full disk.
    """
    views = []
    for assignment, points in zip(assignments, summary.assignments, strict=True):
        reports: dict[str, dict[str, Any]] = {}
        for submission in folder.submissions:
            report = store.graded(assignment.name, submission.name)
            if report is None:
                page_path(store, assignment.name, submission.name).unlink(missing_ok=True)
                continue
            reports[submission.name] = report
            _write_page(store, assignment.name, submission.name)
        names = [submission.name for submission in folder.submissions]
        views.append(_view(assignment, names, reports, points, summary))
    template = environment("grader.commands.batch").get_template("class.html")
    attention = [
        (item, _link(item.assignment, item.name) if item.kind != "ungraded" else "")
        for item in summary.attention
    ]
    text = template.render(summary=summary, assignments=views, attention=attention)
    store.write(store.folder / PAGE, text + "\n")


def page_path(store: Store, assignment: str, name: str) -> Path:
    """Return the path of a submission's page."""
    return store.folder / "pages" / assignment / f"{name}.html"


def _write_page(store: Store, assignment: str, name: str) -> None:
    report, page = store.report_path(assignment, name), page_path(store, assignment, name)
    if not page.is_file() or page.stat().st_mtime_ns < report.stat().st_mtime_ns:
        store.write(page, document(read_report(report)))


def _link(assignment: str, name: str, anchor: str = "") -> str:
    path = quote(f"pages/{assignment}/{name}.html", errors="surrogateescape")
    return f"{path}#{anchor}" if anchor else path


def _view(
    assignment: Assignment,
    names: Sequence[str],
    reports: Mapping[str, dict[str, Any]],
    points: Points,
    summary: Summary,
) -> AssignmentView:
    remarks: dict[str, str] = {}
    for item in summary.attention:
        if item.assignment == assignment.name:
            remarks.setdefault(item.name, item.reason)
    rows = [_row(assignment.name, name, reports.get(name), remarks.get(name, "")) for name in names]
    rows.sort(key=lambda row: not row.remark)  # the others stay in the order of names
    return AssignmentView(
        name=assignment.name,
        title=assignment.title,
        histogram=_histogram(points, reports),
        checks=tuple(
            _check_row(one.kernel, one.check, one.verdicts) for one in points.checks if one.verdicts
        ),
        failures=tuple(
            FailureRow(
                failure=failure,
                verdict=Verdict(failure.verdict),
                link=_link(
                    assignment.name, failure.example, _anchor(failure, reports[failure.example])
                ),
            )
            for failure in points.failures
        ),
        filters=_filters(rows),
        rows=tuple(rows),
    )


def _anchor(failure: Failure, report: dict[str, Any]) -> str:
    """Return the place of the failure's kernel in the example's page."""
    for number, kernel in enumerate(report["kernels"], 1):
        if kernel["name"] == failure.kernel and kernel["counted"]:
            return f"k{number}"
    return ""


def _row(assignment: str, name: str, report: dict[str, Any] | None, remark: str) -> SubmissionRow:
    if report is None:
        return SubmissionRow(name=name, link="", verdict=None, points="", failed="", remark=remark)
    won = "no score" if report["score"] is None else as_points(report["score"])
    pending = f" (+{as_points(report['pending'])} pending)" if report["pending"] else ""
    return SubmissionRow(
        name=name,
        link=_link(assignment, name),
        verdict=Verdict(report["verdict"]),
        points=won + pending,
        failed=_failed(report),
        remark=remark,
    )


def _failed(report: dict[str, Any]) -> str:
    """Return the checks without points in words, at most three."""
    failed = [
        f"{kernel['name']}, {check['name']}"
        for kernel in report["kernels"]
        for check in (kernel["checks"] if kernel["counted"] else ())
        if Verdict(check["verdict"]).judged and not Verdict(check["verdict"]).earns_points
    ]
    more = f" and {len(failed) - 3} more" if len(failed) > 3 else ""
    return "; ".join(failed[:3]) + more


def _filters(rows: Sequence[SubmissionRow]) -> tuple[tuple[str, str, int], ...]:
    """Return the filters that select something: class, label, count."""
    verdicts = [(verdict.value, verdict.phrase) for verdict in Verdict]
    found = [
        (name, label, sum(name in row.classes.split() for row in rows))
        for name, label in [("human", "for a human"), *verdicts, ("ungraded", "without a report")]
    ]
    return tuple(one for one in found if one[2])


def _check_row(kernel: str, check: str, verdicts: Mapping[str, int]) -> CheckRow:
    total = sum(verdicts.values())
    parts, x = [], 0.0
    for word, count in verdicts.items():
        verdict, width = Verdict(word), 160.0 * count / total
        parts.append(
            Part(
                x=round(x, 1),
                width=round(max(width - 1, 0.5), 1),
                tone=tone(verdict),
                text=f"{verdict.phrase}: {count}",
            )
        )
        x += width
    words = ", ".join(f"{Verdict(word).phrase} {count}" for word, count in verdicts.items())
    return CheckRow(kernel=kernel, check=check, parts=tuple(parts), words=words)


def _histogram(points: Points, reports: Mapping[str, dict[str, Any]]) -> Histogram | None:
    most = points.max_score
    scores = [one["score"] for one in reports.values() if one["score"] is not None]
    if not scores or not most:
        return None
    counts = [0] * _BINS
    for score in scores:
        counts[min(_BINS - 1, max(0, math.floor(_BINS * score / most)))] += 1
    step, scale = (_RIGHT - _LEFT) / _BINS, (_BOTTOM - _TOP) / max(counts)
    low, first, median, third, high = points.quartiles
    text = (
        f"The points of {plural(len(scores), 'hand-in')}: half of them lie between {first:g} and "
        f"{third:g}, the median (dashed) is {median:g}, the mean {points.mean:g}, the lowest "
        f"{low:g}, the highest {high:g} of {most:g}."
    )
    if points.with_pending:
        text += f" {points.with_pending} of them wait for points from a GPU."
    if points.nothing_handed_in:
        text += f" {points.nothing_handed_in} handed in nothing."
    return Histogram(
        bins=tuple(
            Bin(
                x=round(_LEFT + number * step + 1, 1),
                y=round(_BOTTOM - count * scale, 1),
                width=round(step - 2, 1),
                height=round(count * scale, 1),
                count=count,
            )
            for number, count in enumerate(counts)
        ),
        median_x=round(_LEFT + (_RIGHT - _LEFT) * min(1.0, median / most), 1),
        most=f"{most:g}",
        text=text,
    )
