"""An estimate and the tiers → which tier, and whether that is certain.

                tier                      the interval is clear of it: decided
──────[───•───]──┼─────────────────────

──────────[──•───┼──]──────────────────   within NOISE of it: inconclusive, the tier counts

───[─•───────────┼───────────────]─────   too wide to say: measure again
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.timing.estimate import Estimate

# How near a tier the median must be for the student to get the benefit of the doubt.
NOISE = 0.03
# Rounds go on until the interval is this narrow, or this narrow and far from every tier.
WIDTH = 0.01
FAR_WIDTH = 0.015


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """A speedup that earns `share` of the points, 0 < share ≤ 1.

    With `accepted` the verdict on a kernel that reaches it is accepted; below
    it is too slow, whatever its share.
    """

    speedup: float
    share: float
    accepted: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What the estimate says of the tiers.

    `tier` is the best one reached, None if none is; `open` is one that the
    interval leaves open. With `certain` neither more rounds nor luck would
    change it but for the interval's own 5 %.
    """

    tier: Tier | None
    open: Tier | None = None
    certain: bool = True

    @property
    def again(self) -> bool:
        """True if the interval is too wide for any verdict."""
        return not self.certain and self.open is None


def decide(found: Estimate, tiers: Sequence[Tier]) -> Decision:
    """Return the best tier that `found` reaches.

    Of tiers that the interval holds the best within NOISE of the median is
    given to the student; if there is one that it holds further away, the
    interval is too wide to say anything.
    """
    ordered = sorted(tiers, key=lambda tier: tier.speedup)
    reached = [tier for tier in ordered if tier.speedup <= found.low]
    unsure = [tier for tier in ordered if found.holds(tier.speedup)]
    if any(abs(tier.speedup / found.median - 1) > NOISE for tier in unsure):
        return Decision(tier=reached[-1] if reached else None, certain=False)
    if unsure:
        return Decision(tier=unsure[-1], open=unsure[-1], certain=False)
    return Decision(tier=reached[-1] if reached else None)


def settled(found: Estimate, tiers: Sequence[Tier], width: float = WIDTH) -> bool:
    """True if more rounds are not worth their time.

    Narrow enough, or so far from every tier that twice the interval would not
    reach one: what decides the points is then known, whatever the last per cent.
    """
    if found.width <= width:
        return True
    reach = found.high - found.low
    low, high = found.low - reach, found.high + reach
    return found.width <= FAR_WIDTH and not any(low < tier.speedup <= high for tier in tiers)
