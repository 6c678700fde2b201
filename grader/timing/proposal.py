"""Propose tiers for a GPU from measured figures, with warnings about narrow margins.

    too slow          accepted              full
    ───•────────────────┼─────────────────────┼──•──────→ times torch, or share of the roofline
     sample                                     reference

The tier for full points is a margin below the reference, because GPUs of one model differ a
little. The accepted tier is the geometric mean of the full tier and the fastest sample that must
be too slow. Each criterion has its own bounds, of which a kernel needs one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.timing.decision import Criterion, Tier

# Shares of the reference's speedup: for all points, and for acceptance without slow samples.
FULL = 0.92
ACCEPTED = 0.7
ACCEPTED_SHARE = 0.6
# A figure this near a tier could be on the other side on another day or GPU.
MARGIN = 0.1


# Figures of one source file: times torch, and the share of the roofline if it is known.
Figures = Mapping[Criterion, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Tiers for one kernel in one language, and why they may fail on another GPU."""

    tiers: tuple[Tier, ...]
    sensitive: tuple[str, ...] = ()


def propose(reference: Figures, slow: Sequence[tuple[str, Figures]]) -> Proposal:
    """Return tiers for a reference's figures and those of the samples that must be too slow."""
    accepted, full = {}, {}
    for criterion, figure in reference.items():
        worst = max((figures.get(criterion, 0.0) for _, figures in slow), default=0.0)
        full[criterion] = round_down(FULL * figure)
        least = max(ACCEPTED * figure, math.sqrt(worst * full[criterion]))
        accepted[criterion] = round_down(min(full[criterion], least))
    best, first = full.get(Criterion.ROOF), accepted.get(Criterion.ROOF)
    tiers = [
        Tier(
            speedup=accepted[Criterion.TORCH],
            # Equal bounds in two tiers would contradict each other.
            roof=None if first == best else first,
            share=ACCEPTED_SHARE,
        ),
        # Beyond 1 a spec cannot ask.
        Tier(speedup=full[Criterion.TORCH], roof=best and min(best, 1.0), share=1.0),
    ]
    return Proposal(
        tiers=tuple(tiers if tiers[0].speedup < tiers[1].speedup else tiers[1:]),
        sensitive=tuple(sensitivities(tiers, reference, slow)),
    )


def margin(figures: Figures, tier: Tier) -> float:
    """Return how many times what the tier asks for is reached, by the better criterion.

    A tier is reached from 1 on; 0 if nothing was measured.
    """
    asked = tier.asked
    return max((figures[one] / asked[one] for one in asked if one in figures), default=0.0)


def tier_words(tier: Tier) -> str:
    """Return a tier's bounds: "2.9 (roof 0.85)"."""
    return f"{tier.speedup:g}" if tier.roof is None else f"{tier.speedup:g} (roof {tier.roof:g})"


def figure_words(figures: Figures, tier: Tier) -> str:
    """Return the figures that count for a tier: "2.73, roof 0.91"."""
    words = {Criterion.TORCH: "", Criterion.ROOF: "roof "}
    return ", ".join(f"{words[one]}{figures[one]:.2f}" for one in tier.asked if one in figures)


def sensitivities(
    tiers: Sequence[Tier], reference: Figures, slow: Sequence[tuple[str, Figures]]
) -> list[str]:
    """Return a sentence for each file that is too near a tier, or on its wrong side."""
    ordered = sorted(tiers, key=lambda tier: tier.speedup)
    found = []
    for best in ordered[-1:]:
        what = f"the reference ({figure_words(reference, best)})"
        if margin(reference, best) < 1:
            found.append(f"{what} does not reach the tier at {tier_words(best)}")
        elif margin(reference, best) < 1 + MARGIN / 2:
            found.append(f"{what} is near the tier at {tier_words(best)}")
    for accepted in [tier for tier in ordered if tier.accepted][:1]:
        for name, figures in slow:
            what = f"{name} ({figure_words(figures, accepted)})"
            if margin(figures, accepted) >= 1:
                found.append(f"{what} reaches the tier at {tier_words(accepted)}")
            elif margin(figures, accepted) > 1 - MARGIN:
                found.append(f"{what} is near the tier at {tier_words(accepted)}")
    return found


def round_down(figure: float) -> float:
    """Return the figure rounded down to two significant digits."""
    step: float = 10.0 ** (math.floor(math.log10(figure)) - 1)
    # The small term keeps an exact multiple from being rounded down a whole step.
    return round(math.floor(figure / step + 1e-9) * step, 6)
