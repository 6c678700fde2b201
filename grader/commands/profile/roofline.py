"""The roofline of a kernel: as bars in a terminal, as a picture in SVG.

A kernel without counted operations has no point in the picture: its share of the
bandwidth is drawn as a bar instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from grader.text.templates import templates
from grader.timing.roofline import Point, Roofline

BAR = 40
_WIDTH, _HEIGHT, _MARGIN = 720, 440, 60
_DECADES = 4


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
