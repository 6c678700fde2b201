"""Estimate the speedup over torch and its confidence interval.

A round times baseline and submission, one after the other, on the same work, and gives one ratio:
baseline's seconds ÷ submission's seconds, above 1 if the submission is faster. A disturbance that
lasts longer than a round (clocks, temperature, a neighbour) affects both and cancels.

The estimate is the median of the rounds' ratios, with the interval from order statistics: the
median of n values lies between the k-th smallest and the k-th largest with a probability that is a
sum of binomial coefficients, for any distribution (e.g. Conover, Practical Nonparametric
Statistics, 3.2). Nothing is random, so that equal samples give equal intervals; outliers do not
widen the interval.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The median speedup of `rounds` rounds and its interval, low ≤ median ≤ high."""

    median: float
    low: float
    high: float
    rounds: int

    @property
    def width(self) -> float:
        """The interval's width divided by the median."""
        return (self.high - self.low) / self.median

    def contains(self, speedup: float) -> bool:
        """True if `speedup` lies inside the interval.

        A ratio that equals a tier reaches it, and so the interval excludes its lower end.
        """
        return self.low < speedup <= self.high


def fewest_rounds() -> int:
    """Return the number of rounds that an interval needs: 6 for a confidence of 0.95."""
    return math.ceil(1 - math.log2(1 - CONFIDENCE))


def estimate(ratios: Sequence[float]) -> Estimate:
    """Return the median of `ratios` with its interval.

    Raises ValueError for fewer than `fewest_rounds`, and for a ratio that is not positive and
    finite: a measured time never gives one.
    """
    if len(ratios) < fewest_rounds():
        raise ValueError(f"{len(ratios)} rounds are too few")
    if not all(math.isfinite(ratio) and ratio > 0 for ratio in ratios):
        raise ValueError("a ratio of times must be positive and finite")
    ordered = sorted(ratios)
    rank = _rank(len(ordered))
    return Estimate(
        median=statistics.median(ordered),
        low=ordered[rank],
        high=ordered[-1 - rank],
        rounds=len(ordered),
    )


def _rank(count: int) -> int:
    """Return how many values the interval leaves out at each end.

    The median is below the (r+1)-th smallest of n values with the probability that at most r of
    n fair coins show heads.
    """
    tail, rank = 0.0, -1
    while True:
        tail += math.comb(count, rank + 1) / 2**count
        if tail > (1 - CONFIDENCE) / 2:
            return max(rank, 0)
        rank += 1


def geometric_mean(ratios: Sequence[float]) -> float:
    """Return the geometric mean, in which twice as fast and half as fast cancel."""
    return math.exp(math.fsum(map(math.log, ratios)) / len(ratios))
