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
from xml.sax.saxutils import escape

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


def svg(points: Sequence[Point], roofline: Roofline, title: str) -> str:
    """Draw the roofline with each point that has an intensity; draw bars if there is none."""
    placed = [point for point in points if point.intensity is not None]
    body = (
        _picture(placed, roofline)
        if placed and roofline.tflop_s is not None
        else _bars(points, roofline)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'font-family="sans-serif" font-size="13">\n'
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>\n'
        f'<text x="{_MARGIN}" y="28" font-size="16">{escape(title)}</text>\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


def _picture(points: Sequence[Point], roofline: Roofline) -> list[str]:
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

    # The intensity at which the memory line enters the picture.
    start = max(10.0**left, 10.0 ** (top - _DECADES + 3) / roofline.gb_s)
    corners = " ".join(
        f"{x(i):.1f},{y(t):.1f}"
        for i, t in (
            (start, start * roofline.gb_s / 1e3),
            (ridge, roofline.tflop_s),
            (10.0**right, roofline.tflop_s),
        )
    )
    lines = [f'<polyline points="{corners}" fill="none" stroke="black" stroke-width="2"/>']
    for decade in range(left, right + 1):
        at = x(10.0**decade)
        lines.append(
            f'<text x="{at:.1f}" y="{_HEIGHT - _MARGIN + 20}" text-anchor="middle">'
            f"{10.0**decade:g}</text>"
        )
    for decade in range(top - _DECADES, top + 1):
        at = y(10.0**decade)
        lines.append(
            f'<text x="{_MARGIN - 8}" y="{at:.1f}" text-anchor="end">{10.0**decade:g}</text>'
        )
    lines += [
        f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 14}" text-anchor="middle">operations/byte</text>',
        f'<text x="{_MARGIN}" y="{_MARGIN - 12}">TFLOP/s; {roofline.gb_s:.0f} GB/s, '
        f"{roofline.tflop_s:.1f} TFLOP/s in float32</text>",
    ]
    for point in points:
        assert point.intensity is not None and point.tflop_s is not None
        right_at, down_at = x(point.intensity), y(point.tflop_s)
        lines.append(f'<circle cx="{right_at:.1f}" cy="{down_at:.1f}" r="5" fill="crimson"/>')
        lines.append(
            f'<text x="{right_at + 9:.1f}" y="{down_at + 4:.1f}">{escape(point.name)}: '
            f"{point.tflop_s:.2f}</text>"
        )
    return lines


def _bars(points: Sequence[Point], roofline: Roofline) -> list[str]:
    span, lines = _WIDTH - 2 * _MARGIN, []
    for number, point in enumerate(points):
        top = _MARGIN + 60 * number
        lines += [
            f'<rect x="{_MARGIN}" y="{top}" width="{span}" height="22" fill="#ddd"/>',
            f'<rect x="{_MARGIN}" y="{top}" width="{span * min(roofline.share(point), 1.0):.1f}" '
            'height="22" fill="crimson"/>',
            f'<text x="{_MARGIN}" y="{top + 40}">{escape(point.name)}: {point.gb_s:.0f} of '
            f"{roofline.gb_s:.0f} GB/s</text>",
        ]
    return lines
