"""The verdict vocabulary: one word per outcome, ordered from mild to severe.

A group of verdicts (the checks of a kernel, the kernels of an assignment) has the verdict of its
most severe member. `aggregate` is that rule; four of the verdicts never take part in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class Verdict(str, Enum):
    """The verdict on a check, a kernel or a submission.

    Members are declared from mild to severe. The first twelve aggregate by severity; the last four
    mean that nothing was judged and never aggregate.
    """

    ACCEPTED = "accepted"
    INCONCLUSIVE = "inconclusive"
    TOO_SLOW = "too_slow"
    WRONG_ANSWER = "wrong_answer"
    RUNTIME_ERROR = "runtime_error"
    OUTPUT_LIMIT = "output_limit"
    TIME_LIMIT = "time_limit"
    MEMORY_LIMIT = "memory_limit"
    MEMORY_ERROR = "memory_error"
    COMPILE_ERROR = "compile_error"
    FORBIDDEN = "forbidden"
    TAMPERED = "tampered"

    NOT_SUBMITTED = "not_submitted"
    SKIPPED = "skipped"
    NOT_MEASURED = "not_measured"
    GRADER_ERROR = "grader_error"

    def __str__(self) -> str:
        return self.value

    @property
    def phrase(self) -> str:
        """The verdict as text for tables."""
        return self.value.replace("_", " ")

    @property
    def judged(self) -> bool:
        """True if the verdict says something about the student's work."""
        return self not in _NEVER_AGGREGATED

    @property
    def earns_points(self) -> bool:
        """True if accepted, or within timing noise of it, which counts in the student's favour."""
        return self in (Verdict.ACCEPTED, Verdict.INCONCLUSIVE)

    @property
    def pending(self) -> bool:
        """True if this machine could not measure: points are neither won nor lost."""
        return self is Verdict.NOT_MEASURED


_NEVER_AGGREGATED = frozenset(
    {Verdict.NOT_SUBMITTED, Verdict.SKIPPED, Verdict.NOT_MEASURED, Verdict.GRADER_ERROR}
)
_SEVERITY = {verdict: rank for rank, verdict in enumerate(Verdict) if verdict.judged}


def aggregate(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict of a group: its most severe member.

    A `grader_error` makes the group's result unknown, so it takes precedence. Without a judged
    member the verdict is `not_measured`, `skipped` or `not_submitted`, in this order.
    """
    members = set(verdicts)
    if Verdict.GRADER_ERROR in members:
        return Verdict.GRADER_ERROR
    judged = [verdict for verdict in members if verdict.judged]
    if judged:
        return max(judged, key=_SEVERITY.__getitem__)
    for fallback in (Verdict.NOT_MEASURED, Verdict.SKIPPED):
        if fallback in members:
            return fallback
    return Verdict.NOT_SUBMITTED
