"""Speedups: the estimate, its interval, and the decision about tiers."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable

import pytest

from grader.timing.decision import (
    NOISE,
    WIDTH,
    Criterion,
    Decision,
    Found,
    Scale,
    Tier,
    decide,
    settled,
    share_of,
)
from grader.timing.estimate import Estimate, estimate, fewest_rounds, geometric_mean

TORCH, ROOF = Criterion.TORCH, Criterion.ROOF
SLOW, EVEN, FAST = (
    Tier(speedup=0.5, share=0.4),
    Tier(speedup=1.0, share=0.8),
    Tier(speedup=1.3, share=1.0),
)
TIERS = (SLOW, EVEN, FAST)


def figure(low: float, median: float, high: float) -> Estimate:
    return Estimate(median=median, low=low, high=high, rounds=20)


def found(low: float, median: float, high: float) -> Found:
    return {TORCH: figure(low, median, high)}


# ---- the estimate ----


def test_six_rounds_are_the_fewest() -> None:
    assert fewest_rounds() == 6
    assert estimate([1.0] * 6).rounds == 6
    with pytest.raises(ValueError, match="5 rounds are too few"):
        estimate([1.0] * 5)


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_what_is_no_ratio_of_times_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="positive and finite"):
        estimate([1.0] * 9 + [bad])


@pytest.mark.parametrize(
    ("rounds", "left_out"),
    # The table of order statistics for the median, 95 %: 9 → 2nd and 8th, 20 → 6th and 15th.
    [(6, 0), (8, 0), (9, 1), (12, 2), (15, 3), (17, 4), (20, 5), (30, 9), (100, 39)],
)
def test_interval_is_that_of_the_order_statistics(rounds: int, left_out: int) -> None:
    ratios = [float(1 + place) for place in range(rounds)]
    random.Random(0).shuffle(ratios)
    result = estimate(ratios)
    assert (result.low, result.high) == (1 + left_out, rounds - left_out)
    assert result.median == statistics.median(ratios)


def test_an_outlier_moves_neither_median_nor_interval() -> None:
    calm = [1.0 + place / 1000 for place in range(15)]
    assert estimate([*calm[:-1], 50.0]) == estimate([*calm[:-1], calm[-1]])


@pytest.mark.parametrize("shape", ["normal", "lognormal", "two humps"])
def test_interval_holds_the_true_median_as_often_as_it_says(shape: str) -> None:
    rng = random.Random(7)
    draws: dict[str, Callable[[], float]] = {
        "normal": lambda: 1.2 + rng.gauss(0, 0.02),
        "lognormal": lambda: 1.2 * rng.lognormvariate(0, 0.2),
        "two humps": lambda: 1.2 + rng.choice([-0.1, 0.1]) * rng.random(),
    }
    draw = draws[shape]
    results = [estimate([draw() for _ in range(21)]) for _ in range(1000)]
    covered = sum(result.low <= 1.2 <= result.high for result in results)
    # 21 rounds give 97.3 %; three standard deviations of 1000 trials are 1.5 %.
    assert 945 <= covered <= 995


def test_mean_of_sizes_treats_twice_and_half_alike() -> None:
    assert geometric_mean([2.0, 0.5]) == pytest.approx(1.0)
    assert geometric_mean([1.5]) == pytest.approx(1.5)


# ---- the decision ----


@pytest.mark.parametrize(
    ("interval", "tier"),
    [
        ((0.40, 0.45, 0.49), None),
        ((0.50, 0.55, 0.60), SLOW),
        ((1.00, 1.10, 1.20), EVEN),  # a speedup equal to a tier reaches it
        ((1.31, 1.50, 1.70), FAST),
        ((0.60, 0.80, 0.99), SLOW),  # wide, and far from every tier
    ],
)
def test_interval_clear_of_the_tiers_decides(
    interval: tuple[float, float, float], tier: Tier | None
) -> None:
    assert decide(found(*interval), TIERS) == Decision(tier=tier)


@pytest.mark.parametrize("median", [0.98, 0.995, 1.0, 1.01])
def test_near_a_tier_the_student_gets_the_doubt(median: float) -> None:
    decision = decide(found(median - 0.02, median, median + 0.02), TIERS)
    assert decision == Decision(tier=EVEN, undecided=EVEN)
    assert not decision.too_wide


def test_doubt_is_given_no_further_than_noise() -> None:
    low = 1.0 / (1 + NOISE) - 0.01
    decision = decide(found(low - 0.05, low, 1.01), TIERS)
    assert decision.tier is SLOW
    assert decision.too_wide


def test_wide_interval_over_a_tier_asks_for_more() -> None:
    assert decide(found(0.8, 1.0, 1.4), TIERS).too_wide  # 1.3 is far from the median


def test_interval_below_the_first_tier_may_be_open_too() -> None:
    assert decide(found(0.49, 0.495, 0.505), TIERS).tier is SLOW


def test_no_tiers_no_doubt() -> None:
    assert decide(found(0.5, 1.0, 2.0), ()) == Decision(tier=None)


# ---- when to stop ----


def test_narrow_interval_settles_wherever_it_is() -> None:
    assert settled(found(0.997, 1.0, 0.997 + WIDTH), TIERS)


def test_far_from_every_tier_less_will_do() -> None:
    assert settled(found(0.745, 0.75, 0.755), TIERS)
    assert not settled(found(1.013, 1.02, 1.027), TIERS)


def test_a_wide_interval_never_settles() -> None:
    assert not settled(found(0.74, 0.75, 0.76), TIERS)


def test_one_of_two_benchmarks_may_have_a_wider_interval() -> None:
    one = found(0.742, 0.75, 0.757)
    assert not settled(one, TIERS)
    assert settled(one, TIERS, benchmarks=2)


def test_without_tiers_only_a_narrow_interval_settles() -> None:
    assert settled(found(0.747, 0.75, 0.754), ())
    assert not settled(found(0.745, 0.75, 0.755), ())


# ---- times torch, or a share of the roofline ----

ROOFED = (
    Tier(speedup=1.0, roof=0.5, share=0.6),
    Tier(speedup=2.0, roof=0.8, share=1.0),
)
HALF, FULL = ROOFED


def both(torch: tuple[float, float, float], roof: tuple[float, float, float]) -> Found:
    return {TORCH: figure(*torch), ROOF: figure(*roof)}


@pytest.mark.parametrize(
    ("torch", "roof", "decision"),
    [
        # The roofline is enough, torch is enough, and torch counts where both are.
        ((1.5, 1.5, 1.5), (0.9, 0.9, 0.9), Decision(tier=FULL, by=ROOF)),
        ((2.1, 2.1, 2.1), (0.3, 0.3, 0.3), Decision(tier=FULL)),
        ((2.1, 2.1, 2.1), (0.9, 0.9, 0.9), Decision(tier=FULL)),
        ((0.8, 0.8, 0.8), (0.6, 0.6, 0.6), Decision(tier=HALF, by=ROOF)),
        ((0.8, 0.8, 0.8), (0.3, 0.3, 0.3), Decision(tier=None)),
        # The benefit of the doubt, by either figure.
        (
            (1.5, 1.5, 1.5),
            (0.78, 0.79, 0.81),
            Decision(tier=FULL, undecided=FULL, by=ROOF),
        ),
        ((1.96, 1.98, 2.01), (0.6, 0.6, 0.6), Decision(tier=FULL, undecided=FULL)),
        # One figure is certain: that the other is wide makes no difference.
        ((1.5, 1.8, 2.2), (0.81, 0.82, 0.83), Decision(tier=FULL, by=ROOF)),
        ((2.01, 2.1, 2.2), (0.6, 0.7, 0.9), Decision(tier=FULL)),
        # Neither is certain: measure again.
        ((1.5, 1.5, 1.5), (0.6, 0.7, 0.9), Decision(tier=HALF, too_wide=True, by=ROOF)),
    ],
)
def test_a_tier_is_reached_by_torch_or_by_the_roofline(
    torch: tuple[float, float, float], roof: tuple[float, float, float], decision: Decision
) -> None:
    assert decide(both(torch, roof), ROOFED) == decision


def test_without_a_roofline_torch_alone_decides() -> None:
    assert decide(found(1.5, 1.5, 1.5), ROOFED) == Decision(tier=HALF)


def test_a_tier_without_a_roof_needs_the_speedup() -> None:
    tiers = (HALF, Tier(speedup=2.0, share=1.0))
    assert decide(both((1.5, 1.5, 1.5), (0.99, 0.99, 0.99)), tiers) == Decision(tier=HALF)


def test_rounds_continue_until_both_figures_are_settled() -> None:
    sure = (1.5, 1.5, 1.5)
    assert settled(both(sure, (0.7, 0.7, 0.7)), ROOFED)
    assert not settled(both(sure, (0.69, 0.7, 0.71)), ROOFED)


def test_on_a_linear_scale_less_will_do_above_the_best_tier_only() -> None:
    assert settled(both((2.24, 2.25, 2.27), (0.7, 0.7, 0.7)), ROOFED, Scale.LINEAR)
    assert not settled(both((1.51, 1.52, 1.53), (0.7, 0.7, 0.7)), ROOFED, Scale.LINEAR)


def test_a_tier_that_one_figure_surely_reaches_needs_no_rounds_for_the_other() -> None:
    near_the_speedup = (1.99, 2.0, 2.015)
    assert settled(both(near_the_speedup, (0.895, 0.9, 0.905)), ROOFED)
    assert not settled(both(near_the_speedup, (0.606, 0.61, 0.614)), ROOFED)


# ---- the share of the points ----


@pytest.mark.parametrize(
    ("torch", "roof", "steps", "linear"),
    [
        (0.9, 0.4, 0.0, 0.0),
        (1.0, 0.4, 0.6, 0.6),
        (1.5, 0.4, 0.6, 0.8),
        (1.25, 0.65, 0.6, 0.8),  # the better figure of the two
        (1.5, 0.575, 0.6, 0.8),
        (0.5, 0.65, 0.6, 0.8),
        (2.5, 0.4, 1.0, 1.0),
        (0.5, 0.95, 1.0, 1.0),
    ],
)
def test_a_linear_scale_interpolates_between_the_tiers(
    torch: float, roof: float, steps: float, linear: float
) -> None:
    figures = both((torch, torch, torch), (roof, roof, roof))
    decision = decide(figures, ROOFED)
    assert share_of(figures, decision, ROOFED, Scale.STEPS) == steps
    assert share_of(figures, decision, ROOFED, Scale.LINEAR) == pytest.approx(linear)


def test_a_granted_tier_earns_its_share_on_a_linear_scale_too() -> None:
    near = found(1.97, 1.99, 2.01)
    decision = decide(near, ROOFED)
    assert decision.undecided is FULL
    assert share_of(near, decision, ROOFED, Scale.LINEAR) == 1.0


@pytest.mark.parametrize("scale", Scale)
def test_what_is_too_uncertain_earns_nothing_yet(scale: Scale) -> None:
    wide = found(1.2, 1.7, 2.4)
    assert share_of(wide, decide(wide, ROOFED), ROOFED, scale) == 0.0
