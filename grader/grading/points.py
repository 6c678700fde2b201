"""What a verdict earns of the points it is about, and how points are shared out."""

from __future__ import annotations

from collections.abc import Sequence

from grader.report.verdict import Verdict


def points(verdict: Verdict, most: float) -> tuple[float | None, float]:
    """Return (score, pending) of a check worth `most` points."""
    if verdict is Verdict.GRADER_ERROR:
        return None, 0.0
    if verdict.pending:
        return 0.0, most
    return (most if verdict.earns_points else 0.0), 0.0


def shares(most: float, counts: Sequence[int]) -> list[float]:
    """Divide points by the number of cases, to the hundredth, without losing any."""
    total = sum(counts)
    if not total:
        return [0.0 for _ in counts]
    parts, given, seen = [], 0.0, 0
    for count in counts:
        seen += count
        upto = round(most * seen / total, 2)
        parts.append(round(upto - given, 2))
        given = upto
    return parts
