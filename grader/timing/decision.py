"""Decide from estimates which tier is reached, and whether that is certain.

                tier                      the interval excludes the tier: decided
──────[───•───]──┼─────────────────────

──────────[──•───┼──]──────────────────   the median is within NOISE: undecided, tier granted

───[─•───────────┼───────────────]─────   the interval is too wide: measure again

A tier may ask for a speedup over torch or, instead, for a share of the roofline. Each has an
estimate of its own, and the better standing of the two counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from itertools import pairwise

from grader.timing.estimate import Estimate

# The student gets the benefit of the doubt if the median is this near to the tier.
NOISE = 0.03
# Rounds continue until the interval is this narrow, or this narrow and far from every tier.
WIDTH = 0.01
FAR_WIDTH = 0.015


class Criterion(str, Enum):
    """What a figure is relative to: torch's time, or the roofline."""

    TORCH = "torch"
    ROOF = "roof"


class Scale(str, Enum):
    """How the share of the points follows from the tiers: by the best one, or interpolated."""

    STEPS = "steps"
    LINEAR = "linear"


Found = Mapping[Criterion, Estimate]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """A speedup, or instead a share of the roofline, that earns `share` of the points.

    0 < share ≤ 1. A kernel that reaches a tier with `accepted` is accepted; a kernel that reaches
    only other tiers is too slow. With `roof` None only the speedup counts.
    """

    speedup: float
    roof: float | None = None
    share: float
    accepted: bool = True

    @property
    def asked(self) -> dict[Criterion, float]:
        """The least figure by criterion; one of them is enough."""
        roof = {} if self.roof is None else {Criterion.ROOF: self.roof}
        return {Criterion.TORCH: self.speedup, **roof}


class _Standing(IntEnum):
    MISSED = 0
    OPEN = 1  # the interval holds the tier, and the median is further away than NOISE
    NEAR = 2
    REACHED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Which tier is reached, `by` which criterion.

    `tier` is the best one reached, None if none is; `undecided` is a tier inside the interval. If
    the interval is `too_wide`, there is no verdict, and `by` says whose interval. Otherwise, and
    without an `undecided` tier, repeating the measurement would change the decision in at most 5 %
    of cases.
    """

    tier: Tier | None
    undecided: Tier | None = None
    too_wide: bool = False
    by: Criterion = Criterion.TORCH


def decide(found: Found, tiers: Sequence[Tier]) -> Decision:
    """Return the best tier that one of the figures in `found` reaches.

    If every tier that is not certain is within NOISE of the median, the best of them is granted;
    otherwise the interval is too wide to decide.
    """
    reached = near = wide = None
    for tier in sorted(tiers, key=lambda tier: tier.speedup):
        standing, by = _standing(found, tier)
        if standing is _Standing.REACHED:
            reached, near, wide = (tier, by), None, None
        elif standing is _Standing.NEAR:
            near = tier, by
        elif standing is _Standing.OPEN:
            wide = wide or (tier, by)
    certain = reached[0] if reached else None
    if wide:
        return Decision(tier=certain, too_wide=True, by=wide[1])
    if near:
        return Decision(tier=near[0], undecided=near[0], by=near[1])
    return Decision(tier=certain, by=reached[1] if reached else Criterion.TORCH)


def _standing(found: Found, tier: Tier) -> tuple[_Standing, Criterion]:
    """Return the tier's best standing and the criterion that gives it, torch if both do."""
    best = _Standing.MISSED, Criterion.TORCH
    for criterion, least in tier.asked.items():
        if criterion not in found:
            continue
        figure = found[criterion]
        standing = _Standing.REACHED if least <= figure.low else _Standing.MISSED
        if figure.contains(least):
            near = abs(least / figure.median - 1) <= NOISE
            standing = _Standing.NEAR if near else _Standing.OPEN
        if standing > best[0]:
            best = standing, criterion
    return best


def share_of(found: Found, decision: Decision, tiers: Sequence[Tier], scale: Scale) -> float:
    """Return the share of the points: that of the tier, or with a linear scale up to the next.

    Interpolates between the tiers by the median of each criterion, and takes the larger share; a
    granted tier's share is the least. Below the lowest tier nothing is earned.
    """
    if decision.tier is None or decision.too_wide:
        return 0.0
    if scale is Scale.STEPS:
        return decision.tier.share
    between = (
        share
        for criterion, figure in found.items()
        for share in _interpolated(figure.median, criterion, tiers)
    )
    return max([decision.tier.share, *between])


def _interpolated(figure: float, criterion: Criterion, tiers: Sequence[Tier]) -> Iterator[float]:
    """Yield the share of a figure that lies between two tiers with this criterion."""
    corners = sorted(
        (tier.asked[criterion], tier.share) for tier in tiers if criterion in tier.asked
    )
    for (low, less), (high, more) in pairwise(corners):
        if low <= figure < high:
            yield less + (more - less) * (figure - low) / (high - low)


def settled(
    found: Found, tiers: Sequence[Tier], scale: Scale = Scale.STEPS, *, benchmarks: int = 1
) -> bool:
    """True if more rounds would not change the points.

    Every interval is narrow, or none is wide and every tier is surely reached or surely missed. On
    a linear scale the points follow the figure up to the best tier, which must be reached then.
    Without tiers, only a narrow interval counts. The mean of several `benchmarks` is more certain
    than the figures of one of them in `found`, whose intervals may be that much wider.
    """
    widest = max(figure.width for figure in found.values()) / math.sqrt(benchmarks)
    if not tiers:
        return widest <= WIDTH
    needed = tiers if scale is Scale.STEPS else [max(tiers, key=lambda tier: tier.speedup)]
    may_miss = scale is Scale.STEPS
    return widest <= WIDTH or (
        widest <= FAR_WIDTH and all(_sure(found, tier, may_miss=may_miss) for tier in needed)
    )


def _sure(found: Found, tier: Tier, *, may_miss: bool) -> bool:
    """True if intervals of three times the width would show the tier reached, or missed."""
    reached, missed = False, may_miss
    for criterion, least in tier.asked.items():
        if criterion in found:
            figure = found[criterion]
            reach = figure.high - figure.low
            reached = reached or least <= figure.low - reach
            missed = missed and figure.high + reach < least
    return reached or missed
