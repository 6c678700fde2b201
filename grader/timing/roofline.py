"""The roofline: the highest rate that a GPU's memory and arithmetic allow.

At an arithmetic intensity of i operations per byte, the roofline is the lower of

    rate = i · bandwidth      memory-bound
    rate = peak               compute-bound
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Bound = Literal["memory", "arithmetic"]


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
    """A GPU's measured copy bandwidth, and the arithmetic peak of the arrays' type if known."""

    gb_s: float
    tflop_s: float | None = None

    def share(self, point: Point) -> float:
        """Return the point's rate as a share of the roofline above it."""
        shares = [point.gb_s / self.gb_s]
        if point.tflop_s is not None and self.tflop_s is not None:
            shares.append(point.tflop_s / self.tflop_s)
        return max(shares)

    def bound(self, point: Point) -> Bound:
        """Return what bounds the point."""
        if point.intensity is None or self.tflop_s is None:
            return "memory"
        return "memory" if point.intensity * self.gb_s < 1e3 * self.tflop_s else "arithmetic"
