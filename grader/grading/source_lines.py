"""The lines of a source file that a report keeps, so that it can show them without the file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import PurePath

from grader.report.evidence import BuildEvidence, CountersEvidence, Evidence, MemoryEvidence
from grader.report.model import CheckResult

SURROUNDINGS = 3  # lines above and below
MOST_LINES = 200
MOST_CHARACTERS = 160


def source_lines(
    text: str, checks: Sequence[CheckResult], headers: Collection[str] = ()
) -> dict[str, str]:
    """Return the lines that the checks' evidence names, with their surroundings, by number.

    `text` is the file with the entry, which includes `headers`: their lines are left out. Lines
    that are named first are kept if there are too many.
    """
    # As compilers count them: `splitlines` also splits at form feeds.
    lines = text.replace("\r\n", "\n").split("\n")
    kept: dict[int, str] = {}
    for named in _named((check.evidence for check in checks), headers):
        for number in range(named - SURROUNDINGS, named + SURROUNDINGS + 1):
            if 0 < number <= len(lines) and len(kept) < MOST_LINES:
                kept[number] = lines[number - 1].expandtabs(4)[:MOST_CHARACTERS]
    return {str(number): kept[number] for number in sorted(kept)}


def _named(evidence: Iterable[Evidence | None], headers: Collection[str]) -> Iterator[int]:
    for one in evidence:
        found: Iterable[tuple[str, int | None]] = ()
        if isinstance(one, BuildEvidence):
            found = ((message.file, message.line) for message in one.diagnostics)
        elif isinstance(one, MemoryEvidence):
            lines = ((fault.file, (fault.line, fault.other_line)) for fault in one.findings)
            found = ((file, line) for file, both in lines for line in both)
        elif isinstance(one, CountersEvidence):
            found = [
                *((warp.file, warp.line) for warp in one.warps),
                *((line.file, line.line) for line in one.lines),
            ]
        yield from (
            line for file, line in found if line is not None and PurePath(file).name not in headers
        )
