"""What all figures of the page share.

A figure has a title, a sentence that says what it shows, and geometry in units of its SVG's
`viewBox`. The width of all figures is `WIDTH`, so that one unit is about one pixel on a telephone.
The figure's template, `templates/NAME.html`, draws the geometry.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

WIDTH = 360


class Path(str):
    """The data of an SVG path: digits and commands of our own, shown in full length."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One figure of the page. A subclass sets `template` and adds its geometry."""

    template: ClassVar[str]

    title: str
    caption: str


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return round numbers from `low` to `high`, at most `most` + 1 of them."""
    span = high - low
    if not math.isfinite(span) or span <= 0:
        return [low]
    step = 10.0 ** math.floor(math.log10(span / most))
    while span / step > most:
        # 1, 2, 5, 10
        step *= 2.5 if math.isclose(step / 10.0 ** math.floor(math.log10(step) + 1e-9), 2) else 2
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def plural(count: int, noun: str) -> str:
    """Return "1 cell" or "2 cells"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def strokes(rows: Iterable[Iterable[bool]], left: float, top: float, size: float) -> Path:
    """Return a horizontal stroke through each run of marked cells of `size` × `size`."""
    parts = []
    for number, row in enumerate(rows):
        y = _short(top + (number + 0.5) * size)
        first = None
        for place, marked in enumerate([*row, False]):
            if marked and first is None:
                first = place
            elif not marked and first is not None:
                parts.append(f"M{_short(left + first * size)} {y}h{_short((place - first) * size)}")
                first = None
    return Path("".join(parts))


def _short(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
