"""Regular places in memory: a start, and extents with a stride each.

What many programs access through regular offsets is one region: programs first, then the axes of
their blocks. A region of an array is a view of it, and costs nothing per element.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

T = torch.Tensor
_MOST_NESTED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """Elements of `size` bytes; start and strides in bytes. The first `outer` axes are programs."""

    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    size: int
    outer: int

    @property
    def end(self) -> int:
        """The byte behind the last element."""
        pairs = zip(self.shape, self.strides, strict=True)
        return self.start + sum((n - 1) * stride for n, stride in pairs) + self.size

    def of(self, array: T, unit: int) -> T:
        """Return the region of an array that has an element for every `unit` bytes."""
        shape, strides = self.shape, tuple(stride // unit for stride in self.strides)
        if self.size > unit:
            shape, strides = (*shape, self.size // unit), (*strides, 1)
        return array.as_strided(shape, strides, array.storage_offset() + self.start // unit)

    def owners(self, programs: T, unit: int) -> T:
        """Return the programs, in a shape that goes with `of`."""
        inner = len(self.shape) - self.outer + (self.size > unit)
        return programs.view(*self.shape[: self.outer], *[1] * inner)

    def places(self, unit: int) -> T:
        """Return the indexes of the region in such an array, in the order of `of`."""
        axes = list(zip(self.shape, self.strides, strict=True))
        if self.size > unit:
            axes.append((self.size // unit, unit))
        found = torch.tensor([self.start // unit])
        for extent, stride in axes:
            found = found[..., None] + torch.arange(extent) * (stride // unit)
        return found[0]

    @property
    def apart(self) -> bool:
        """True if no two elements meet, as far as the strides tell."""
        reach = 0
        pairs = zip(self.strides, self.shape, strict=True)
        for stride, extent in sorted(pair for pair in pairs if pair[1] > 1):
            if stride < reach + self.size:
                return False
            reach += stride * (extent - 1)
        return True

    def may_meet(self, other: Region) -> bool:
        """Return False if no element of the other region is here, as far as the strides tell."""
        if self.end <= other.start or other.end <= self.start:
            return False
        # Columns of one matrix: their places differ within every row.
        for period in {*self.strides, *other.strides} - {0}:
            shift = (other.start - self.start) % period
            if shift >= self._reach(period) and shift + other._reach(period) <= period:
                return False
        return True

    def _reach(self, period: int) -> int:
        """Return how many bytes of each period the region may touch, from its start on."""
        pairs = zip(self.shape, self.strides, strict=True)
        return self.size + sum((n - 1) * stride for n, stride in pairs if stride % period)


def nested(starts: T) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return (extents, strides) of numbers that are steps of steps; None if they are not."""
    extents: list[int] = []
    strides: list[int] = []
    left = starts.numpy()
    while len(left) > 1:
        step = int((left[1:2] - left[:1])[0])  # numbers would warn where they wrap around
        breaks = np.flatnonzero(left[1:] - left[:-1] != step)
        run = int(breaks[0]) + 1 if len(breaks) else len(left)
        if step < 0 or len(left) % run or len(extents) == _MOST_NESTED:
            return None
        rows = left.reshape(-1, run)
        if len(breaks) and not (rows == rows[:, :1] + np.arange(run) * step).all():
            return None
        extents.insert(0, run)
        strides.insert(0, step)
        left = rows[:, 0]
    return tuple(extents) or (1,), tuple(strides) or (0,)


def runs(starts: T) -> list[int]:
    """Return where runs of numbers with one step each end."""
    numbers, ends, first = starts.tolist(), [], 0
    while first < len(numbers):
        end = first + 1
        while end < len(numbers) and (
            numbers[end] - numbers[end - 1] == numbers[first + 1] - numbers[first]
        ):
            end += 1
        ends.append(end)
        first = end
    return ends
