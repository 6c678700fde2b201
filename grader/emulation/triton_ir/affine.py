"""Blocks of regular offsets, and the masks that compare them, without their elements.

    at = program * 1024 + arange(0, 1024)     Affine: start of each program, a step for each axis
    at < n                                    Box: of each program, a range of each axis

Most addresses of a kernel are of this form. Kept so, they cost a few numbers a program, and an
access through them is a slice of memory. What does not fit the form becomes a tensor of elements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from grader.emulation.triton_ir.ir import Operation
from grader.emulation.triton_ir.types import Tensor, dtype_of

T = torch.Tensor
_INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """`start + Σ index · step`: start is int64 of the batch or of length 1.

    `low` and `high` bound all elements, which fit into `dtype`.
    """

    start: T
    shape: tuple[int, ...]
    steps: tuple[int, ...]
    dtype: torch.dtype
    low: int
    high: int

    @property
    def batch(self) -> int:
        """The length of the batch, or 1."""
        return self.start.numel()  # `len` of a tensor is written in Python

    def tensor(self) -> T:
        """Return the elements."""
        rank = len(self.shape)
        data = self.start.to(self.dtype).view(-1, *[1] * rank)
        for axis, (extent, step) in enumerate(zip(self.shape, self.steps, strict=True)):
            if step and extent > 1:
                view = [1] * (rank + 1)
                view[axis + 1] = extent
                # What wraps around here comes back with the start.
                index = torch.arange(extent, dtype=torch.int64) * step
                data = data + index.to(self.dtype).view(view)
        return data.expand(-1, *self.shape)

    def select(self, programs: T) -> Affine:
        """Return those of some programs."""
        if self.batch == 1:
            return self
        start = self.start.index_select(0, programs)
        return Affine(start, self.shape, self.steps, self.dtype, self.low, self.high)


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """True where each index is in its axis' range, of each program or of all; None: everywhere."""

    shape: tuple[int, ...]
    low: tuple[T | None, ...]
    high: tuple[T | None, ...]

    @property
    def dtype(self) -> torch.dtype:
        """The type of a mask."""
        return torch.bool

    @property
    def batch(self) -> int:
        """The length of the batch, or 1."""
        return max(
            (len(bound) for bound in (*self.low, *self.high) if bound is not None), default=1
        )

    def tensor(self) -> T:
        """Return the elements."""
        rank = len(self.shape)
        data = torch.ones([1] * (rank + 1), dtype=torch.bool)
        for axis, extent in enumerate(self.shape):
            view = [1] * (rank + 1)
            view[axis + 1] = extent
            low, high = self.low[axis], self.high[axis]
            if low is not None:
                data = data & (torch.arange(extent).view(view) >= low.view(-1, *[1] * rank))
            if high is not None:
                data = data & (torch.arange(extent).view(view) < high.view(-1, *[1] * rank))
        return data.expand(-1, *self.shape)

    def select(self, programs: T) -> Box:
        """Return those of some programs."""

        def chosen(bound: T | None) -> T | None:
            return bound if bound is None or len(bound) == 1 else bound.index_select(0, programs)

        return Box(self.shape, tuple(map(chosen, self.low)), tuple(map(chosen, self.high)))


Form = Affine | Box


def splat(scalar: T, shape: tuple[int, ...]) -> Form | None:
    """Return a block of one number, which programs may have of their own; None of a float."""
    if scalar.dtype is torch.bool:
        nowhere = (None,) * len(shape)
        return Box(shape, nowhere, (scalar.to(torch.int64) * shape[0], *nowhere[1:]))
    if scalar.dtype not in _INTEGERS:
        return None
    start = scalar.to(torch.int64)
    if start.numel() == 1:
        low = high = int(start)
    else:
        low, high = (int(bound) for bound in torch.aminmax(start))
    return Affine(start, shape, (0,) * len(shape), scalar.dtype, low, high)


def make_range(start: int, extent: int) -> Affine:
    """Return `start`, `start + 1`, …"""
    first = torch.tensor([start])
    return Affine(first, (extent,), (1,), torch.int32, start, start + extent - 1)


def block(
    base: T, shape: tuple[int, ...], strides: list[T], starts: list[T], limits: list[T | None]
) -> tuple[Affine, Box]:
    """Return the addresses of a block, and which of its elements are inside of the limits.

    Strides are in bytes and the same for all programs.
    """
    start, low, high = base, 0, 0
    lows: list[T | None] = []
    highs: list[T | None] = []
    steps = tuple(int(stride) for stride in strides)
    for extent, step, first, limit in zip(shape, steps, starts, limits, strict=True):
        start = start + first * step
        low, high = low + min(0, step * (extent - 1)), high + max(0, step * (extent - 1))
        lows.append(None if limit is None else (-first).clamp(0, extent))
        highs.append(None if limit is None else (limit - first).clamp(0, extent))
    least, most = (int(bound) for bound in torch.aminmax(start))
    address = Affine(start, shape, steps, torch.int64, least + low, most + high)
    return address, Box(shape, tuple(lows), tuple(highs))


def compute(op: Operation, forms: list[Form]) -> Form | None:
    """Compute an operation on forms; None if the result has none, or overflows."""
    kind = Box if op.name == "arith.andi" else Affine
    function = _OPERATIONS.get(op.name)
    if function is None or not all(isinstance(form, kind) for form in forms):
        return None
    if any(form.shape != forms[0].shape for form in forms):
        return None
    return function(op, *forms)


def reshape(op: Operation, form: Form, axis: int | None) -> Form | None:
    """`tt.expand_dims` (at an axis), `tt.broadcast`."""
    kind = op.result_types[0]
    if not isinstance(kind, Tensor):
        return None
    shape = kind.shape
    if isinstance(form, Affine):
        steps = form.steps
        if axis is not None:
            steps = (*steps[:axis], 0, *steps[axis:])
        elif form.shape != shape:
            pairs = zip(form.shape, shape, steps, strict=True)
            steps = tuple(0 if one != many else step for one, many, step in pairs)
        return Affine(form.start, shape, steps, form.dtype, form.low, form.high)
    if axis is not None:
        lows, highs = ((*b[:axis], None, *b[axis:]) for b in (form.low, form.high))
        return Box(shape, lows, highs)

    def grown(bounds: tuple[T | None, ...]) -> tuple[T | None, ...]:
        # The range of an axis of one element is all or nothing.
        return tuple(
            bound if bound is None or one == many else bound.clamp(0, 1) * many
            for bound, one, many in zip(bounds, form.shape, shape, strict=True)
        )

    return Box(shape, grown(form.low), grown(form.high))


def move(form: Affine, offset: Affine, width: int) -> Affine | None:
    """`tt.addptr`: addresses moved by so many elements of `width` bytes."""
    if form.shape != offset.shape:
        return None
    steps = tuple(a + b * width for a, b in zip(form.steps, offset.steps, strict=True))
    low, high = form.low + offset.low * width, form.high + offset.high * width
    return _affine(form.start + offset.start * width, form.shape, steps, torch.int64, low, high)


def _affine(
    start: T, shape: tuple[int, ...], steps: tuple[int, ...], dtype: torch.dtype, *bounds: int
) -> Affine | None:
    """Return the form, unless elements may not fit into their type."""
    low, high = min(bounds), max(bounds)
    limits = torch.iinfo(dtype)
    if low < limits.min or high > limits.max:
        return None
    return Affine(start, shape, steps, dtype, low, high)


def _add(op: Operation, a: Affine, b: Affine) -> Affine | None:
    steps = tuple(x + y for x, y in zip(a.steps, b.steps, strict=True))
    return _affine(a.start + b.start, a.shape, steps, a.dtype, a.low + b.low, a.high + b.high)


def _subtract(op: Operation, a: Affine, b: Affine) -> Affine | None:
    steps = tuple(x - y for x, y in zip(a.steps, b.steps, strict=True))
    return _affine(a.start - b.start, a.shape, steps, a.dtype, a.low - b.high, a.high - b.low)


def _multiply(op: Operation, a: Affine, b: Affine) -> Affine | None:
    if any(a.steps):
        a, b = b, a
    if any(a.steps) or (any(b.steps) and a.low != a.high):
        return None  # steps that programs do not share
    steps = tuple(step * a.low for step in b.steps)
    corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return _affine(a.start * b.start, a.shape, steps, a.dtype, *corners)


def _cast(op: Operation, a: Affine) -> Affine | None:
    dtype = dtype_of(op.result_types[0])
    if dtype not in _INTEGERS or (op.name == "arith.extui" and a.low < 0):
        return None
    return _affine(a.start, a.shape, a.steps, dtype, a.low, a.high)


def _remainder(op: Operation, a: Affine, b: Affine) -> Affine | None:
    """The remainder of numbers that are smaller is the numbers themselves."""
    return a if a.low >= 0 and a.high < b.low else None


def _least_or_greatest(op: Operation, a: Affine, b: Affine) -> Affine | None:
    """A minimum or maximum of numbers of which one side is never less."""
    if b.high <= a.low:
        a, b = b, a
    elif a.high > b.low:
        return None
    return a if op.name == "arith.minsi" else b


def _both(op: Operation, a: Box, b: Box) -> Box:
    def met(one: T | None, two: T | None, function: Callable[[T, T], T]) -> T | None:
        if one is None or two is None:
            return two if one is None else one
        return function(one, two)

    low = tuple(met(x, y, torch.maximum) for x, y in zip(a.low, b.low, strict=True))
    high = tuple(met(x, y, torch.minimum) for x, y in zip(a.high, b.high, strict=True))
    return Box(a.shape, low, high)


def _compare(op: Operation, a: Affine, b: Affine) -> Box | None:
    """Compare offsets, of which only one axis decides."""
    word = op.words[0]
    if word in ("eq", "ne") or (word[0] == "u" and min(a.low, b.low) < 0):
        return None
    if word[1] == "g":
        a, b = b, a
    # All become: start + Σ index · step < 0.
    less = int(word[2] == "e")
    low, high = a.low - b.high - less, a.high - b.low - less
    nowhere: tuple[T | None, ...] = (None,) * len(a.shape)
    if high < 0:
        return Box(a.shape, nowhere, nowhere)
    if max(abs(low), abs(high)) >= 1 << 62:
        return None
    start = a.start - b.start - less
    steps = tuple(x - y for x, y in zip(a.steps, b.steps, strict=True))
    moving = [i for i, step in enumerate(steps) if step and a.shape[i] > 1]
    if len(moving) > 1:
        return None
    axis = moving[0] if moving else 0
    extent, step = a.shape[axis], steps[axis] if moving else 0
    bounds = list(nowhere)
    if step > 0:
        bounds[axis] = torch.div(step - 1 - start, step, rounding_mode="floor").clamp(0, extent)
        return Box(a.shape, nowhere, tuple(bounds))
    if step < 0:
        first = torch.div(start, -step, rounding_mode="floor") + 1
        bounds[axis] = first.clamp(0, extent)
        return Box(a.shape, tuple(bounds), nowhere)
    bounds[axis] = (start < 0).to(torch.int64) * extent
    return Box(a.shape, nowhere, tuple(bounds))


_OPERATIONS: dict[str, Callable[..., Form | None]] = {
    "arith.addi": _add,
    "arith.andi": _both,
    "arith.cmpi": _compare,
    "arith.extsi": _cast,
    "arith.extui": _cast,
    "arith.index_cast": _cast,
    "arith.maxsi": _least_or_greatest,
    "arith.minsi": _least_or_greatest,
    "arith.muli": _multiply,
    "arith.remsi": _remainder,
    "arith.subi": _subtract,
    "arith.trunci": _cast,
}
