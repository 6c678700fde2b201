"""The details of a counters check: its counts, or the costliest source lines."""

from __future__ import annotations

from grader.formats.deduplication import INDENT
from grader.formats.page import Page
from grader.report.evidence import BoundedCount, CounterLine, CountersEvidence

MOST_LINES = 5
_COUNTS = ("count", "here", "at least", "at most")
_HEADER = ("access", "requests", "per request", "would do", "times")


def write_counters(page: Page, evidence: CountersEvidence, *, failed: bool) -> None:
    """Add a table of the counts, or else of the most expensive lines, if the check failed."""
    broken = failed and any(one.broken for one in evidence.counts)
    if broken:
        page.sentence(f"counted on {evidence.case}:", indent=INDENT)
        page.table(_COUNTS, [_count(one) for one in evidence.counts], indent=INDENT + 2)
    lines = evidence.lines
    if lines and lines[0].transactions > lines[0].least:
        lines = tuple(line for line in lines if line.transactions > line.least)
    shown = lines[:MOST_LINES]
    if failed and not broken and shown:
        page.sentence(f"counted on {evidence.case}, the costliest lines first:", indent=INDENT)
        page.table(_HEADER, [_row(line) for line in shown], indent=INDENT + 2)


def _count(one: BoundedCount) -> tuple[str, ...]:
    numbers = (one.counted, one.at_least, one.at_most)
    return one.name, *("" if number is None else str(number) for number in numbers)


def _row(line: CounterLine) -> tuple[str, ...]:
    place = "" if line.line is None else f"line {line.line}: "
    unit = "sectors" if line.space == "global" else "wavefronts"
    return (
        f"{place}{line.space} {line.access}",
        str(line.requests),
        f"{line.per_request:.1f} {unit}",
        f"{line.least / line.requests:.1f}",
        f"{line.ratio:.2f}",
    )
