"""Propose speedup tiers for a GPU from measured speedups, with warnings about narrow margins.

    too slow          accepted              full
    ───•────────────────┼─────────────────────┼──•──────→ times torch
     sample                                     reference

The tier for full points is a margin below the reference, because GPUs of one model differ a
little. The accepted tier is the geometric mean of the full tier and the fastest sample that must
be too slow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from grader.timing.decision import Tier

# Shares of the reference's speedup: for all points, and for acceptance without slow samples.
FULL = 0.92
ACCEPTED = 0.7
ACCEPTED_SHARE = 0.6
# A figure this near a tier could be on the other side on another day or GPU.
MARGIN = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Tiers for one kernel in one language, and why they may fail on another GPU."""

    tiers: tuple[Tier, ...]
    sensitive: tuple[str, ...] = ()


def propose(reference: float, slow: Sequence[tuple[str, float]]) -> Proposal:
    """Return tiers for a reference's speedup and those of the samples that must be too slow."""
    full = round_down(FULL * reference)
    accepted = ACCEPTED * reference
    worst = max(slow, key=lambda sample: sample[1], default=None)
    if worst is not None:
        accepted = min(full, max(accepted, math.sqrt(worst[1] * full)))
    accepted = round_down(accepted)
    tiers = [
        Tier(speedup=accepted, share=ACCEPTED_SHARE, accepted=True),
        Tier(speedup=full, share=1.0, accepted=True),
    ]
    return Proposal(
        tiers=tuple(tiers) if accepted < full else tuple(tiers[1:]),
        sensitive=tuple(sensitivities(tiers, reference, slow)),
    )


def sensitivities(
    tiers: Sequence[Tier], reference: float, slow: Sequence[tuple[str, float]]
) -> list[str]:
    """Return a sentence for each figure that is too near a tier, or on its wrong side."""
    found = []
    best = max((tier.speedup for tier in tiers), default=0.0)
    if reference < best:
        found.append(f"the reference ({reference:.2f}) does not reach the tier at {best:g}")
    elif reference < best * (1 + MARGIN / 2):
        found.append(f"the reference ({reference:.2f}) is near the tier at {best:g}")
    accepted = min((tier.speedup for tier in tiers if tier.accepted), default=None)
    for name, speedup in slow:
        if accepted is not None and speedup >= accepted:
            found.append(f"{name} ({speedup:.2f}) reaches the tier at {accepted:g}")
        elif accepted is not None and speedup > accepted * (1 - MARGIN):
            found.append(f"{name} ({speedup:.2f}) is near the tier at {accepted:g}")
    return found


def round_down(speedup: float) -> float:
    """Return the figure rounded down to two significant digits."""
    step: float = 10.0 ** (math.floor(math.log10(speedup)) - 1)
    # The small term keeps an exact multiple from being rounded down a whole step.
    return round(math.floor(speedup / step + 1e-9) * step, 6)
