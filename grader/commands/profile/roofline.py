"""The roofline of a kernel: as bars in a terminal, as a picture in SVG.

At an arithmetic intensity of i operations per byte, the roofline is the lower of

    rate = i · bandwidth      memory-bound
    rate = peak               compute-bound

A kernel without counted operations has no point in the picture: its share of the
bandwidth is drawn as a bar instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from grader.text.templates import templates

BAR = 40
_WIDTH, _HEIGHT, _MARGIN = 720, 440, 60
_DECADES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One benchmark's rates; `tflop_s` is None if its operations are not counted."""

    name: str
    gb_s: float
    tflop_s: float | None = None

    @property
    def intensity(self) -> float | None:
        """Operations per byte that has to move; None if they are not counted."""
        return None if self.tflop_s is None else 1e3 * self.tflop_s / self.gb_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofline:
    """A GPU's measured bandwidth, and its float32 peak if it is known."""

    gb_s: float
    tflop_s: float | None = None

    def share(self, point: Point) -> float:
        """Return the point's rate as a share of the roofline above it."""
        shares = [point.gb_s / self.gb_s]
        if point.tflop_s is not None and self.tflop_s is not None:
            shares.append(point.tflop_s / self.tflop_s)
        return max(shares)

    def bound(self, point: Point) -> str:
        """Return the point's bound: "memory" or "arithmetic"."""
        if point.intensity is None or self.tflop_s is None:
            return "memory"
        return "memory" if point.intensity * self.gb_s < 1e3 * self.tflop_s else "arithmetic"


def bars(points: Sequence[Point], roofline: Roofline) -> list[str]:
    """Return a line for each point, with a bar for its share of the roofline."""
    width = max((len(point.name) for point in points), default=0)
    lines = []
    for point in points:
        share = roofline.share(point)
        filled = round(min(share, 1.0) * BAR)
        bar = "#" * filled + "." * (BAR - filled)
        lines.append(
            f"{point.name:{width}}  |{bar}| {share:4.0%} of the {roofline.bound(point)} roofline"
        )
    return lines


def drawing(points: Sequence[Point], roofline: Roofline, title: str) -> str:
    """Return an SVG: the roofline with each point that has an intensity; bars if there is none."""
    placed = [point for point in points if point.intensity is not None]
    picture = placed and roofline.tflop_s is not None
    return (
        templates("grader.commands.profile", escape=True)
        .get_template("roofline.svg.j2")
        .render(
            axes=_axes(placed, roofline) if picture else None,
            points=placed if picture else points,
            roofline=roofline,
            title=title,
            width=_WIDTH,
            height=_HEIGHT,
            margin=_MARGIN,
        )
    )


def _axes(points: Sequence[Point], roofline: Roofline) -> dict[str, Any]:
    """Return both axes: the powers of ten on them, and functions from a value to its place."""
    assert roofline.tflop_s is not None
    ridge = 1e3 * roofline.tflop_s / roofline.gb_s
    left = math.floor(math.log10(min([ridge / 10, *(p.intensity or ridge for p in points)])))
    right = math.ceil(math.log10(max([ridge * 10, *(p.intensity or ridge for p in points)])))
    top = math.ceil(math.log10(roofline.tflop_s) + 0.1)

    def x(intensity: float) -> float:
        span = _WIDTH - 2 * _MARGIN
        return _MARGIN + span * (math.log10(intensity) - left) / (right - left)

    def y(tflop_s: float) -> float:
        down = min(max(top - math.log10(tflop_s), 0.0), float(_DECADES))
        return _MARGIN + (_HEIGHT - 2 * _MARGIN) * down / _DECADES

    return {
        "x": x,
        "y": y,
        "x_marks": [10.0**decade for decade in range(left, right + 1)],
        "y_marks": [10.0**decade for decade in range(top - _DECADES, top + 1)],
        # The intensity at which the memory line enters the picture.
        "start": max(10.0**left, 10.0 ** (top - _DECADES + 3) / roofline.gb_s),
        "ridge": ridge,
    }
