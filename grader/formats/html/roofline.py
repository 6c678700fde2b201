"""The roofline of a GPU with a dot for each kernel of the assignment.

The arithmetic intensity is what the call computes, divided by the bytes that its accesses move, as
counted without caches. A kernel that was timed has its rate; one that was not is drawn on the
roofline, as the highest rate that its accesses allow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from grader.formats.html.ladder import evidence_of
from grader.formats.html.panel import WIDTH, Panel
from grader.protocol.targets import TARGETS
from grader.report.evidence import CountersEvidence, PerformanceEvidence
from grader.report.model import KernelResult, Report
from grader.text.numbers import three_digits
from grader.timing.roofline import Roofline

MOST_KERNELS = 12
_LEFT, _RIGHT, _TOP, _BOTTOM = 40.0, WIDTH - 14.0, 16.0, 196.0
_LEGEND = 15.0
_LABEL = 11.0  # a number above its dot, and its distance from others


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """One kernel: its number in the picture, and what the legend says."""

    number: int
    x: float
    y: float
    label_y: float
    legend_y: float
    name: str
    text: str
    timed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A power of ten on an axis."""

    at: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflinePanel(Panel):
    """The roofline as two lines, with the dots below or on it."""

    template: ClassVar[str] = "roofline.html"

    dots: tuple[Dot, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    start: tuple[float, float]
    ridge: tuple[float, float]
    slope_degrees: float
    memory_text: str
    peak_text: str
    bottom: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """One kernel's operations per byte, and its rate if it was timed."""

    name: str
    intensity: float
    tflop_s: float | None


def panel(report: Report) -> RooflinePanel | None:
    """Return the picture; None if nothing counts operations, or the roofline is unknown."""
    places = [place for kernel in report.kernels if (place := _place(kernel)) is not None]
    roof = _roof(report)
    if not places or roof is None:
        return None
    places = places[:MOST_KERNELS]
    roofline, gpu = roof
    peak = roofline.tflop_s or 0.0
    ridge = 1e3 * peak / roofline.gb_s
    rates = [_rate(place, roofline) for place in places]
    left = math.floor(math.log10(min(place.intensity for place in places) * 0.8))
    right = math.ceil(math.log10(1.5 * max(ridge, *(place.intensity for place in places))))
    low = math.floor(math.log10(min(*rates, peak) * 0.8))
    high = math.ceil(math.log10(1.2 * max(peak, *rates)))

    def x(intensity: float) -> float:
        share = (math.log10(intensity) - left) / (right - left)
        return round(_LEFT + (_RIGHT - _LEFT) * share, 1)

    def y(tflop_s: float) -> float:
        return round(_BOTTOM - (_BOTTOM - _TOP) * (math.log10(tflop_s) - low) / (high - low), 1)

    start = max(10.0**left, 10.0**low * 1e3 / roofline.gb_s)
    begins = x(start), y(start * roofline.gb_s / 1e3)
    timed = any(place.tflop_s is not None for place in places)
    return RooflinePanel(
        title=f"Roofline of {gpu}",
        caption=_caption(places, roofline, timed=timed),
        dots=_dots(places, [(x(p.intensity), y(r)) for p, r in zip(places, rates, strict=True)]),
        x_ticks=tuple(
            Tick(at=x(10.0**decade), label=f"{10.0**decade:g}") for decade in range(left, right + 1)
        ),
        y_ticks=tuple(
            Tick(at=y(10.0**decade), label=f"{10.0**decade:g}") for decade in range(low, high + 1)
        ),
        start=begins,
        ridge=(x(ridge), y(peak)),
        slope_degrees=round(math.degrees(math.atan2(y(peak) - begins[1], x(ridge) - begins[0])), 1),
        memory_text=f"memory: {roofline.gb_s:,.0f} GB/s",
        peak_text=f"peak: {peak:g} TFLOP/s",
        bottom=_BOTTOM,
        height=_BOTTOM + 42 + len(places) * _LEGEND,
    )


def _place(kernel: KernelResult) -> _Place | None:
    counted = next(evidence_of(kernel, CountersEvidence), None)
    if counted is None or not counted.operations or kernel.language is None:
        return None
    moved = next((one.measured for one in counted.figures if one.name == "traffic"), 0)
    if not moved:
        return None
    timed = next(evidence_of(kernel, PerformanceEvidence), None)
    rates = [one.tflop_s for one in timed.benchmarks if one.tflop_s] if timed else []
    return _Place(
        name=f"{kernel.name} · {kernel.language.phrase}",
        intensity=counted.operations / moved,
        tflop_s=max(rates, default=None),
    )


def _roof(report: Report) -> tuple[Roofline, str] | None:
    """Return the measured roofline, or that of the course's GPU by its data sheet; and its name."""
    for kernel in report.kernels:
        for timed in evidence_of(kernel, PerformanceEvidence):
            if timed.roof_gb_s and timed.peak_tflop_s:
                roofline = Roofline(gb_s=timed.roof_gb_s, tflop_s=timed.peak_tflop_s)
                return roofline, str(report.environment.get("gpu") or "this GPU")
    name = report.environment.get("target")
    target = next((one for one in TARGETS.values() if one.name == name), None)
    if target is None:
        return None
    return Roofline(gb_s=target.memory_gb_s, tflop_s=target.float32_tflop_s), target.gpu


def _rate(place: _Place, roofline: Roofline) -> float:
    """Return the measured rate, or the highest that the accesses allow; in TFLOP/s."""
    if place.tflop_s is not None:
        return place.tflop_s
    return min(roofline.tflop_s or math.inf, place.intensity * roofline.gb_s / 1e3)


def _dots(places: Sequence[_Place], at: Sequence[tuple[float, float]]) -> tuple[Dot, ...]:
    dots: list[Dot] = []
    for number, (place, (x, y)) in enumerate(zip(places, at, strict=True), 1):
        label_y = y - 8
        # Dots may coincide, their numbers may not.
        while any(abs(x - dot.x) < _LABEL and abs(label_y - dot.label_y) < _LABEL for dot in dots):
            label_y -= _LABEL
        rate = f"; {three_digits(place.tflop_s)} TFLOP/s" if place.tflop_s is not None else ""
        dots.append(
            Dot(
                number=number,
                x=x,
                y=y,
                label_y=round(label_y, 1),
                legend_y=_BOTTOM + 46 + (number - 1) * _LEGEND,
                name=place.name,
                text=f"{three_digits(place.intensity)} per byte{rate}",
                timed=place.tflop_s is not None,
            )
        )
    return tuple(dots)


def _caption(places: Sequence[_Place], roofline: Roofline, *, timed: bool) -> str:
    text = (
        "To the right a kernel computes more for each byte that its accesses move (counted without "
        "caches); upwards it is faster. The slope is what memory delivers, the flat line what the "
        "arithmetic units do."
    )
    if timed:
        text += " A dot above the slope owes that to caches."
    else:
        text += (
            " Nothing was timed: rings are the highest rate that the accesses allow (float32, "
            "without tensor cores)."
        )
    least = min(places, key=lambda one: one.intensity)
    most = max(places, key=lambda one: one.intensity)
    if len(places) > 1 and most.intensity > 1.01 * least.intensity:
        text += (
            f" {most.name} uses each byte {most.intensity / least.intensity:.1f} times as often "
            f"as {least.name}."
        )
    ridge = 1e3 * (roofline.tflop_s or 0) / roofline.gb_s
    return f"{text} Left of {three_digits(ridge)} operations per byte memory is the limit."
