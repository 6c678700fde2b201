"""The class in figures: points, verdicts by check, and what staff should look at.

docs/batch.md documents the keys of `summary.json`.
"""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from grader.assignment.model import Assignment
from grader.commands.batch.failures import Failure, commonest, failures
from grader.commands.batch.store import Store
from grader.commands.batch.submissions import ClassFolder
from grader.formats.page import Page
from grader.report.reader import read_report
from grader.report.verdict import Verdict
from grader.text.printable import encodable, one_line

_FORMAT = 1
_MOST_SHOWN = 30  # on the terminal; summary.json lists all
_FOR_STAFF = (Verdict.TAMPERED.value, Verdict.INCONCLUSIVE.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """A submission that staff should look at, and why."""

    assignment: str
    name: str
    kind: str  # ungraded, tampered, inconclusive, flag
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckCounts:
    """The number of each verdict, mild to severe, for one check of a counted kernel."""

    kernel: str
    check: str
    verdicts: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """The class's points in one assignment; None if there are no reports."""

    assignment: str
    max_score: float | None
    hand_ins: int
    graded: int
    nothing_handed_in: int
    with_pending: int
    mean: float | None
    quartiles: tuple[float, ...]  # lowest, 25 %, 50 %, 75 %, highest
    checks: tuple[CheckCounts, ...]
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The content of `summary.json`, without its format."""

    graded_now: int
    ungraded: int
    assignments: tuple[Points, ...]
    attention: tuple[Attention, ...]
    passed_over: tuple[str, ...]
    given_up: tuple[str, ...] = ()  # why GPUs are no longer used

    def text(self) -> str:
        """Return the text of `summary.json`."""
        return json.dumps({"format": _FORMAT, **asdict(self)}, indent=2) + "\n"


def summarise(
    store: Store,
    folder: ClassFolder,
    assignments: Sequence[Assignment],
    *,
    graded_now: int,
    given_up: tuple[str, ...] = (),
) -> Summary:
    """Read the reports of the class's submissions and summarise them."""
    attention: list[Attention] = []
    points = []
    for assignment in assignments:
        reports = []
        failed: list[Failure] = []
        for name in (submission.name for submission in folder.submissions):
            report = store.graded(assignment.name, name)
            if report is None:
                reason = store.failure(assignment.name, name) or "there is no report"
                remarks = [("ungraded", reason)]
            else:
                reports.append(report)
                failed += failures(name, read_report(store.report_path(assignment.name, name)))
                remarks = list(_remarks(report))
            attention += [
                Attention(assignment=assignment.name, name=name, kind=kind, reason=reason)
                for kind, reason in remarks
            ]
        points.append(_points(assignment, len(folder.submissions), reports, failed))
    return Summary(
        graded_now=graded_now,
        ungraded=sum(item.kind == "ungraded" for item in attention),
        assignments=tuple(points),
        attention=tuple(attention),
        passed_over=folder.passed_over,
        given_up=given_up,
    )


def _remarks(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield kind and reason for everything that staff should look at."""
    if report["verdict"] == Verdict.NOT_SUBMITTED.value and (reason := _misplaced(report)):
        yield "flag", reason
    for kernel in report["kernels"]:
        for check in kernel["checks"]:
            subject = f"{kernel['name']}, {check['name']}"
            if check["verdict"] in _FOR_STAFF:
                yield check["verdict"], f"{subject}: {check['message']}"
            for flag in (check["evidence"] or {}).get("flags", ()):
                yield "flag", f"{subject}: {flag}"


def _misplaced(report: dict[str, Any]) -> str:
    """Return the message about a file with a wrong name or in a wrong folder, else ""."""
    messages = ((k["name"], check["message"]) for k in report["kernels"] for check in k["checks"])
    # A message about a missing file has backquotes only around the name of a similar file.
    return next((f"{kernel}: {message}" for kernel, message in messages if "`" in message), "")


def _points(
    assignment: Assignment,
    hand_ins: int,
    reports: Sequence[dict[str, Any]],
    failed: Sequence[Failure],
) -> Points:
    scores = sorted(r["score"] for r in reports if r["score"] is not None)
    counts: dict[tuple[str, str], Counter[str]] = {}
    for report in reports:
        for kernel in report["kernels"]:
            for check in kernel["checks"] if kernel["counted"] else ():
                counts.setdefault((kernel["name"], check["name"]), Counter())[check["verdict"]] += 1
    order = [verdict.value for verdict in Verdict]
    return Points(
        assignment=assignment.name,
        max_score=reports[0]["max_score"] if reports else None,
        hand_ins=hand_ins,
        graded=len(scores),
        nothing_handed_in=sum(r["verdict"] == Verdict.NOT_SUBMITTED.value for r in reports),
        with_pending=sum(r["pending"] > 0 for r in reports),
        mean=round(statistics.fmean(scores), 2) if scores else None,
        quartiles=_quartiles(scores),
        checks=tuple(
            CheckCounts(
                kernel=kernel,
                check=check,
                verdicts={word: verdicts[word] for word in order if word in verdicts},
            )
            for (kernel, check), verdicts in counts.items()
        ),
        failures=commonest(failed),
    )


def _quartiles(scores: list[float]) -> tuple[float, ...]:
    if not scores:
        return ()
    inner = statistics.quantiles(scores, n=4, method="inclusive") if len(scores) > 1 else scores * 3
    return (scores[0], *(round(value, 2) for value in inner), scores[-1])


def print_summary(summary: Summary, console: Console, *, wall_s: float, page: Path) -> None:
    """Print a table for each assignment, then what staff should look at, and where the page is."""

    def line(text: str) -> None:
        console.print(escape(encodable(one_line(text), console.encoding)), soft_wrap=True)

    for points in summary.assignments:
        _verdicts(points, console)
        line(_headline(points))
    if summary.attention:
        line("")
        line("for staff to look at:")
    for item in summary.attention[:_MOST_SHOWN]:
        line(f"  {item.kind}: {item.assignment} · {item.name}: {item.reason}")
    if len(summary.attention) > _MOST_SHOWN:
        line(f"  … and {len(summary.attention) - _MOST_SHOWN} more in summary.json")
    for sentence in summary.passed_over:
        line(f"not graded: {sentence}")
    for sentence in summary.given_up:
        line(f"no longer used: {sentence}")
    line(f"the class as a page: {page}")
    line(f"{summary.graded_now} graded now, {summary.ungraded} without a report, {wall_s:.1f} s")


def _verdicts(points: Points, console: Console) -> None:
    """Print a row for each check: kernel, check, and how often it ended with which verdict."""
    page = Page(console)
    rows = [("kernel", "check", "verdicts")]
    rows += [(check.kernel, check.check, _counted(check.verdicts)) for check in points.checks]
    kernels, checks = (max(len(row[column]) for row in rows) for column in (0, 1))
    for number, (kernel, check, verdicts) in enumerate(rows):
        style = "bold" if number == 0 else ""
        page.row(Text(f"{kernel:<{kernels}}   {check:<{checks}}   ", style), (verdicts, style))
    page.print()


def _counted(verdicts: Mapping[str, int]) -> str:
    return ", ".join(f"{Verdict(verdict).phrase} {count}" for verdict, count in verdicts.items())


def _headline(points: Points) -> str:
    words = f"{points.assignment}: {points.graded} of {points.hand_ins} graded"
    if points.quartiles:
        low, first, median, third, high = points.quartiles
        words += (
            f" · points of {points.max_score:g}: median {median:g}, mean {points.mean:g}, "
            f"quartiles {low:g}–{first:g}–{median:g}–{third:g}–{high:g}"
        )
    if points.nothing_handed_in:
        words += f" · {points.nothing_handed_in} without files"
    if points.with_pending:
        words += f" · {points.with_pending} with points pending"
    return words
