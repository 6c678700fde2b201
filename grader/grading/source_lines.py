"""The lines of a source file that a report keeps, so that it can show them without the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from grader.report.evidence import BuildEvidence, CountersEvidence, Evidence, MemoryEvidence
from grader.report.model import CheckResult

SURROUNDINGS = 3  # lines above and below
MOST_LINES = 200
MOST_CHARACTERS = 160


def source_lines(text: str, checks: Sequence[CheckResult]) -> dict[str, str]:
    """Return the lines that the checks' evidence names, with their surroundings, by number.

    Lines that are named first are kept if there are too many.
    """
    # As compilers count them: `splitlines` also splits at form feeds.
    lines = text.replace("\r\n", "\n").split("\n")
    kept: dict[int, str] = {}
    for named in _named(check.evidence for check in checks):
        for number in range(named - SURROUNDINGS, named + SURROUNDINGS + 1):
            if 0 < number <= len(lines) and len(kept) < MOST_LINES:
                kept[number] = lines[number - 1].expandtabs(4)[:MOST_CHARACTERS]
    return {str(number): kept[number] for number in sorted(kept)}


def _named(evidence: Iterable[Evidence | None]) -> Iterator[int]:
    for one in evidence:
        found: Iterable[int | None] = ()
        if isinstance(one, BuildEvidence):
            found = (message.line for message in one.diagnostics)
        elif isinstance(one, MemoryEvidence):
            found = (line for fault in one.findings for line in (fault.line, fault.other_line))
        elif isinstance(one, CountersEvidence):
            found = [*(warp.line for warp in one.warps), *(line.line for line in one.lines)]
        yield from (line for line in found if line is not None)
