"""Hints for findings, and how findings are merged and sorted, the same for every tool.

Findings of one kind at one line are merged into one with a count, which names the tools that found
it; errors come before warnings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import PurePath

from grader.report.evidence import Finding, FindingKind
from grader.text.hints import hints

SHOWN = 10
_HINTS = hints("finding")
# For writes to an input, which are no memory error on a GPU.
INPUT_HINT = _HINTS["input"]
# For findings of the kind `barrier` within one warp, which do not involve `__syncthreads()`.
MASK_HINT = _HINTS["mask"]


def hint(kind: FindingKind) -> str:
    """Return what a student can do about findings of this kind."""
    return _HINTS[kind]


def merged_findings(
    findings: Iterable[Finding], given: Collection[str] = ()
) -> tuple[Finding, ...]:
    """Return one finding for each kind and line: errors first, the student's lines, then by line.

    `given` are the names of headers that are the course's.
    """
    kept: dict[object, Finding] = {}
    counts: dict[object, Counter[str]] = {}
    for finding in findings:
        lines = frozenset({finding.line, finding.other_line} - {None})
        key = (finding.kind, finding.file, lines, finding.buffer if not lines else None)
        # Each tool has its own run of the same cases: its count stands for itself.
        by_tool = counts.setdefault(key, Counter())
        by_tool[finding.tool] += finding.count
        before = kept.get(key, finding)
        # Of equally severe findings the first is kept: its block and thread are shown.
        more_severe = before.severity == "warning" and finding.severity == "error"
        worse = finding if more_severe else before
        other = before if more_severe else finding
        if worse.hint == _HINTS[worse.kind] and other.kind == worse.kind and other.hint:
            worse = replace(worse, hint=other.hint)  # one of a tool that knows more
        kept[key] = replace(worse, count=max(by_tool.values()), tool=", ".join(by_tool))
    # Memory past an array is also uninitialized: report the overrun only, if it is an error.
    outside = {
        (f.file, f.line)
        for f in kept.values()
        if f.kind == "out_of_bounds" and f.severity == "error" and f.line is not None
    }
    shown = [
        f for f in kept.values() if f.kind != "uninitialized" or (f.file, f.line) not in outside
    ]

    def order(f: Finding) -> tuple[bool, bool, bool, int]:
        of_course = PurePath(f.file).name in given
        return f.severity != "error", of_course, f.line is None, f.line or 0

    return tuple(sorted(shown, key=order))


def describe(finding: Finding) -> str:
    """Return the finding in one line: place, message, count."""
    place = f"{finding.file}:{finding.line}" if finding.line else finding.file
    times = f" ({finding.count} times)" if finding.count > 1 else ""
    return f"{place}: {finding.message}{times}"
