"""Decide from an estimate which speedup tier is reached, and whether that is certain.

                tier                      the interval excludes the tier: decided
──────[───•───]──┼─────────────────────

──────────[──•───┼──]──────────────────   the median is within NOISE: undecided, tier granted

───[─•───────────┼───────────────]─────   the interval is too wide: measure again
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.timing.estimate import Estimate

# The student gets the benefit of the doubt if the median is this near to the tier.
NOISE = 0.03
# Rounds continue until the interval is this narrow, or this narrow and far from every tier.
WIDTH = 0.01
FAR_WIDTH = 0.015


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """A speedup that earns `share` of the points, 0 < share ≤ 1.

    A kernel that reaches a tier with `accepted` is accepted; a kernel that reaches only other
    tiers is too slow.
    """

    speedup: float
    share: float
    accepted: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Which tier is reached.

    `tier` is the best one reached, None if none is; `undecided` is a tier inside the interval. If
    the interval is `too_wide`, there is no verdict. Otherwise, and without an `undecided` tier,
    repeating the measurement would change the decision in at most 5 % of cases.
    """

    tier: Tier | None
    undecided: Tier | None = None
    too_wide: bool = False


def decide(found: Estimate, tiers: Sequence[Tier]) -> Decision:
    """Return the best tier that `found` reaches.

    If every tier inside the interval is within NOISE of the median, the best of them is granted;
    otherwise the interval is too wide to decide.
    """
    ordered = sorted(tiers, key=lambda tier: tier.speedup)
    reached = [tier for tier in ordered if tier.speedup <= found.low]
    unsure = [tier for tier in ordered if found.contains(tier.speedup)]
    if any(abs(tier.speedup / found.median - 1) > NOISE for tier in unsure):
        return Decision(tier=reached[-1] if reached else None, too_wide=True)
    if unsure:
        return Decision(tier=unsure[-1], undecided=unsure[-1])
    return Decision(tier=reached[-1] if reached else None)


def settled(found: Estimate, tiers: Sequence[Tier]) -> bool:
    """True if more rounds would not change the points.

    The interval is narrow enough, or narrow and so far from every tier that an interval of three
    times its width would not reach one.
    """
    if found.width <= WIDTH:
        return True
    reach = found.high - found.low
    low, high = found.low - reach, found.high + reach
    return found.width <= FAR_WIDTH and not any(low < tier.speedup <= high for tier in tiers)
