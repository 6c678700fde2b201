"""What all figures of the page share.

A figure has a title, a sentence that says what it shows, and geometry in units of its SVG's
`viewBox`. The width of all figures is `WIDTH`, so that one unit is about one pixel on a telephone.
The figure's template, `templates/NAME.html`, draws the geometry.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

WIDTH = 360


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
