"""The rules for the points of checks, kernels and submissions.

a kernel       the sum of its checks; of several languages the best one counts
a submission   the sum of its kernels; null if the grader failed
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from grader.assignment.model import Assignment, Kernel
from grader.report.model import CheckResult, KernelResult, Report
from grader.report.verdict import Verdict, aggregate
from grader.vocabulary import CheckName, Language, Visibility

_INDECISIVE = frozenset({CheckName.BUILD, CheckName.RULES})


def points(verdict: Verdict, most: float) -> tuple[float | None, float]:
    """Return (score, pending) of a check worth `most` points."""
    if verdict is Verdict.GRADER_ERROR:
        return None, 0.0
    if verdict.pending:
        return 0.0, most
    return (most if verdict.earns_points else 0.0), 0.0


def check_line(check: CheckName, verdict: Verdict, most: float, message: str) -> CheckResult:
    """Return the line of a check worth `most` points, with the points that the verdict gives."""
    score, pending = points(verdict, most)
    return CheckResult(
        check=check,
        name=check,
        verdict=verdict,
        score=score,
        max_score=most,
        pending=pending,
        message=message,
    )


def shares(most: float, counts: Sequence[int], hidden: Sequence[bool] = ()) -> list[float]:
    """Divide `most` points among lines by weight, so that the sum stays `most`.

    Whole points are divided into whole points, by the largest remainder; a line with a weight has
    at least one if there are enough. Visible and `hidden` lines together are divided first: a copy
    of the assignment with one line for all hidden cases then has the same visible ones. Other
    points are rounded to hundredths.
    """
    if not sum(counts):
        return [0.0 for _ in counts]
    if most != int(most):
        return _hundredths(most, counts)
    sides = [
        [k for k, _ in enumerate(counts) if (k < len(hidden) and hidden[k]) is side]
        for side in (False, True)
    ]
    weights = [sum(counts[k] for k in side) for side in sides]
    seen = sum(counts[k] > 0 for k in sides[0])
    parts = [0.0 for _ in counts]
    for side, points in zip(sides, _whole(int(most), weights, [seen, weights[1] > 0]), strict=True):
        own = [counts[k] for k in side]
        for k, part in zip(side, _whole(points, own, [count > 0 for count in own]), strict=True):
            parts[k] = float(part)
    return parts


def _whole(points: int, counts: Sequence[int], least: Sequence[int]) -> list[int]:
    """Divide whole points by weight; each part is at least `least` if there are enough."""
    total = sum(counts)
    if not total:
        return [0 for _ in counts]
    if sum(least) > points:
        least = [0 for _ in counts]
    parts = [max(points * count // total, low) for count, low in zip(counts, least, strict=True)]
    while (given := sum(parts)) != points:
        # How far each is below its exact share, in parts of a point.
        short = [points * count - total * part for count, part in zip(counts, parts, strict=True)]
        if given < points:
            parts[short.index(max(short))] += 1
        else:
            above = [k for k, part in enumerate(parts) if part > least[k]]
            parts[min(above, key=short.__getitem__)] -= 1
    return parts


def _hundredths(most: float, counts: Sequence[int]) -> list[float]:
    parts, given, counted = [], 0.0, 0
    for count in counts:
        counted += count
        up_to_here = round(most * counted / sum(counts), 2)
        parts.append(round(up_to_here - given, 2))
        given = up_to_here
    return parts


def kernel_result(
    kernel: Kernel, language: Language | None, checks: Sequence[CheckResult]
) -> KernelResult:
    """Combine the checks of one kernel in one language (None if it was not handed in)."""
    result = KernelResult(
        name=kernel.name,
        title=kernel.title,
        language=language,
        file=kernel.files[language] if language is not None else None,
        counted=True,
        verdict=Verdict.NOT_SUBMITTED,
        score=0.0,
        max_score=kernel.max_score,
        pending=0.0,
        bonus=kernel.bonus,
    )
    return with_checks(result, checks)


def with_checks(result: KernelResult, checks: Sequence[CheckResult]) -> KernelResult:
    """Return the result with these checks, and with the verdict and points that follow.

    Accepted build and rules checks do not decide the verdict if there are other checks. Nothing is
    accepted as long as visible cases are not measured.
    """
    decisive = [
        check.verdict
        for check in checks
        if check.check not in _INDECISIVE or check.verdict is not Verdict.ACCEPTED
    ]
    verdict = aggregate(decisive or (check.verdict for check in checks))
    if verdict is Verdict.ACCEPTED and any(map(_leaves_cases_open, checks)):
        verdict = Verdict.NOT_MEASURED
    return replace(
        result,
        checks=tuple(checks),
        verdict=verdict,
        score=total(check.score for check in checks),
        pending=round(sum(check.pending for check in checks), 2),
    )


def _leaves_cases_open(check: CheckResult) -> bool:
    cases = check.check is CheckName.CORRECTNESS and check.visibility is Visibility.VISIBLE
    return cases and check.verdict is Verdict.NOT_MEASURED


def not_submitted(kernel: Kernel, message: str) -> KernelResult:
    """Return the result of a kernel that was not handed in; `message` says why."""
    line = check_line(CheckName.BUILD, Verdict.NOT_SUBMITTED, 0.0, message)
    return kernel_result(kernel, None, [line])


def mark_counted(results: Sequence[KernelResult]) -> list[KernelResult]:
    """Mark which of one kernel's results counts; there is one result for each language.

    The result with the most points counts; among equals the one with the most pending points, then
    the first. After a grader error it is unknown which is better, so the result with the error
    counts and no score is published.
    """
    if not results:
        return []

    def points_of(result: KernelResult) -> tuple[bool, float, float]:
        return result.score is None, result.score or 0.0, result.pending

    best = max(results, key=points_of)
    return [replace(result, counted=result is best) for result in results]


def assemble(
    assignment: Assignment,
    kernels: Sequence[KernelResult],
    *,
    filtered: bool,
    wall_s: float,
    environment: dict[str, str | int | float | None],
) -> Report:
    """Combine the kernels of one submission into its report."""
    counted = [result for result in kernels if result.counted]
    return Report(
        assignment=assignment.name,
        title=assignment.title,
        verdict=overall(counted),
        score=total(result.score for result in counted),
        max_score=round(sum(result.max_score for result in counted if not result.bonus), 2),
        pending=pending(counted),
        handed_in=sum(result.verdict is not Verdict.NOT_SUBMITTED for result in counted),
        kernels_total=len(counted),
        filtered=filtered,
        wall_s=wall_s,
        environment=environment,
        kernels=tuple(kernels),
    )


def overall(counted: Sequence[KernelResult]) -> Verdict:
    """Return the verdict of a submission; a bonus decides only if nothing else was graded."""
    regular = [result.verdict for result in counted if not result.bonus]
    return aggregate(regular or [result.verdict for result in counted])


def pending(counted: Sequence[KernelResult]) -> float:
    """Return the points of a submission that are not decided yet, rounded to hundredths."""
    return round(sum(result.pending for result in counted), 2)


def total(scores: Iterable[float | None]) -> float | None:
    """Return the sum of points, rounded to hundredths; None if one is unknown."""
    total = 0.0
    for score in scores:
        if score is None:
            return None
        total += score
    return round(total, 2)
