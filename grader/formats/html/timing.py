"""The rounds of a benchmark: the speedup of each, their median and interval, and the tiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from grader.formats.html.panel import WIDTH, Panel, ticks
from grader.formats.timing_lines import rate_and_share
from grader.report.evidence import BenchmarkTiming, PerformanceEvidence
from grader.text.numbers import three_digits

LEFT, RIGHT = 44.0, WIDTH - 12.0
MOST_BENCHMARKS = 8
MOST_ROUNDS = 400
_ROW = 58.0
_TOP = 42.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One benchmark: its dots, its median and the median's interval, in SVG units."""

    label: str
    y: float
    dots: tuple[tuple[float, float], ...]
    median: float
    low: float
    high: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A labelled position on the axis."""

    x: float
    label: str
    reached: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Speedups(Panel):
    """The speedup of every round, with tiers as lines."""

    template: ClassVar[str] = "timing.html"

    rows: tuple[Row, ...]
    ticks: tuple[Mark, ...]
    tiers: tuple[Mark, ...]
    torch: float | None
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """One side of one round."""

    x: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds(Panel):
    """The times of both sides, round by round."""

    template: ClassVar[str] = "rounds.html"

    torch: tuple[Dot, ...]
    submission: tuple[Dot, ...]
    torch_median: float
    submission_median: float
    torch_us: str
    submission_us: str
    ticks: tuple[Mark, ...]
    rounds: int
    height: float


def panels(evidence: PerformanceEvidence) -> list[Panel]:
    """Return the figures of a performance check; none without a timed round."""
    timed = [one for one in evidence.benchmarks if one.speedups][:MOST_BENCHMARKS]
    if not timed:
        return []
    found: list[Panel] = [_speedups(evidence, timed)]
    found += [_rounds(one) for one in timed if len(one.submission_rounds_us) > 1]
    return found


def conditions(evidence: PerformanceEvidence) -> list[tuple[str, ...]]:
    """Return the state of the GPU afterwards: names and values."""
    found = [
        ("copy bandwidth in the same run", evidence.roof_gb_s, "GB/s"),
        ("clock of the multiprocessors", evidence.sm_mhz, "MHz"),
        ("clock of the memory", evidence.memory_mhz, "MHz"),
        ("temperature", evidence.temperature_c, "°C"),
    ]
    rows: list[tuple[str, ...]] = []
    rows += [(name, f"{value:g} {unit}") for name, value, unit in found if value is not None]
    if evidence.throttle_reasons:
        rows.append(("throttled by", ", ".join(evidence.throttle_reasons)))
    return rows


def table(evidence: PerformanceEvidence) -> list[tuple[str, ...]]:
    """Return a row for each benchmark: name, both times, speedup, rate, share, rounds."""
    return [
        (
            one.name,
            f"{three_digits(one.baseline_us)} µs",
            f"{three_digits(one.submission_us)} µs",
            f"{one.speedup:.3f} ({one.low:.3f} to {one.high:.3f})",
            *rate_and_share(one),
            f"{one.rounds}" + (f" (+ {one.discarded} discarded)" if one.discarded else ""),
        )
        for one in evidence.benchmarks[:MOST_BENCHMARKS]
    ]


def _speedups(evidence: PerformanceEvidence, timed: Sequence[BenchmarkTiming]) -> Speedups:
    values = [value for one in timed for value in (*one.speedups, one.low, one.high)]
    marks = [tier.speedup for tier in evidence.tiers]
    low, high = min([*values, *marks]), max([*values, *marks])
    if low <= 1.5 and high >= 0.6:
        low, high = min(low, 1.0), max(high, 1.0)  # torch's own speed, if it is near
    margin = 0.06 * (high - low) or 0.1 * high or 0.1
    low, high = max(0.0, low - margin), high + margin

    def x(value: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * (value - low) / (high - low), 1)

    rows = []
    for number, one in enumerate(timed):
        y = _TOP + number * _ROW + 30
        shown = one.speedups[:MOST_ROUNDS]
        rows.append(
            Row(
                label=one.name,
                y=y,
                # Round by round from top to bottom, so that a drift is seen as a slant.
                dots=tuple(
                    (x(value), round(y - 11 + 22 * place / max(1, len(shown) - 1), 1))
                    for place, value in enumerate(shown)
                ),
                median=x(one.speedup),
                low=x(one.low),
                high=x(one.high),
                text=f"{one.speedup:.2f}×",
            )
        )
    faster = evidence.speedup
    caption = "Each dot is one round: torch's time divided by yours, so right is faster. "
    caption += "The bar is the median, the box the interval that holds it with 95 %."
    if evidence.tiers:
        caption += " Dashed lines are the tiers that earn points"
        caption += ", in proportion between them." if evidence.scale == "linear" else "."
    if faster is not None and evidence.low is not None and evidence.high is not None:
        caption += f" In all: {faster:.2f} times torch ({evidence.low:.2f} to {evidence.high:.2f})."
    caption += _roofline(evidence)
    return Speedups(
        title="How fast, round by round",
        caption=caption,
        rows=tuple(rows),
        ticks=tuple(Mark(x=x(value), label=f"{value:g}") for value in ticks(low, high, 5)),
        tiers=tuple(
            Mark(x=x(tier.speedup), label=f"{tier.share:.0%}", reached=tier.reached)
            for tier in evidence.tiers
        ),
        torch=x(1.0) if low <= 1.0 <= high else None,
        height=_TOP + len(rows) * _ROW + 30,
    )


def _roofline(evidence: PerformanceEvidence) -> str:
    """Return the share of the roofline in words, and the tiers that it reaches instead."""
    if evidence.roof is None:
        return ""
    tiers = [
        f"{tier.roof:.0%} earn {tier.share:.0%}" for tier in evidence.tiers if tier.roof is not None
    ]
    instead = f" Shares of the roofline earn points as well: {', '.join(tiers)}." if tiers else ""
    return f" That is {evidence.roof:.0%} of the roofline.{instead}"


def _rounds(one: BenchmarkTiming) -> Rounds:
    theirs, yours = one.baseline_rounds_us[:MOST_ROUNDS], one.submission_rounds_us[:MOST_ROUNDS]
    count = min(len(theirs), len(yours))
    theirs, yours = theirs[:count], yours[:count]
    high = 1.08 * max(*theirs, *yours) or 1.0
    top, bottom = 18.0, 150.0

    def y(value: float) -> float:
        return round(bottom - (bottom - top) * value / high, 1)

    def x(place: int, *, second: bool) -> float:
        # torch runs first in each round, the submission right after it.
        step = (RIGHT - LEFT - 8) / count
        return round(LEFT + 4 + (place + (0.65 if second else 0.35)) * step, 1)

    slower = one.submission_us > one.baseline_us
    return Rounds(
        title=f"Time of one call, {one.name}",
        caption=(
            f"torch and your kernel take turns, so that clocks and heat meet both alike. "
            f"Lower is faster: your kernel takes {three_digits(one.submission_us)} µs, "
            f"torch {three_digits(one.baseline_us)} µs"
            f"{': yours is the slower one' if slower else ''}."
        ),
        torch=tuple(Dot(x=x(i, second=False), y=y(value)) for i, value in enumerate(theirs)),
        submission=tuple(Dot(x=x(i, second=True), y=y(value)) for i, value in enumerate(yours)),
        torch_median=y(one.baseline_us),
        submission_median=y(one.submission_us),
        torch_us=f"{three_digits(one.baseline_us)} µs",
        submission_us=f"{three_digits(one.submission_us)} µs",
        ticks=tuple(Mark(x=y(value), label=f"{value:g}") for value in ticks(0, high, 4)),
        rounds=count,
        height=186.0,
    )
