"""What a name of the IR stands for while a batch of programs runs.

The first dimension of every tensor is the batch: of its length, or 1 where all programs have the
same value. Behind it come the dimensions of the block, none for a scalar.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from grader.emulation.common.location import Location
from grader.emulation.triton_ir.affine import Form


class Value:
    """Numbers or addresses of a batch, `(batch, *block)`.

    Made of a tensor, or of a form (`affine`), whose tensor is made when something asks for it.
    `undefined` marks elements that a GPU leaves undefined (lanes that a mask switched off), with
    the load they come from in `origin`. `wrapped` is where an int32 overflowed on the way here.
    """

    __slots__ = ("_data", "form", "origin", "undefined", "wrapped")

    def __init__(
        self,
        data: torch.Tensor | Form,
        undefined: torch.Tensor | None = None,
        origin: Location | None = None,
        wrapped: Location | None = None,
    ) -> None:
        self._data = data if isinstance(data, torch.Tensor) else None
        self.form = None if isinstance(data, torch.Tensor) else data
        self.undefined = undefined
        self.origin = origin
        self.wrapped = wrapped

    @property
    def data(self) -> torch.Tensor:
        """The elements."""
        if self._data is None:
            assert self.form is not None
            self._data = self.form.tensor()
        return self._data

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape: the batch's length or 1, then the block's."""
        if self.form is not None:
            return (self.form.batch, *self.form.shape)
        return tuple(self.data.shape)

    @property
    def dtype(self) -> torch.dtype:
        """The type of the elements."""
        return self.data.dtype if self.form is None else self.form.dtype


@dataclass(slots=True)
class BlockPointer:
    """A block pointer or a descriptor: a base, a shape and strides in elements, and offsets."""

    base: Value
    shape: tuple[Value, ...]
    strides: tuple[Value, ...]
    offsets: tuple[Value, ...]
    nan: bool = False  # what a descriptor loads from outside of the shape


@dataclass(slots=True)
class SharedBlock:
    """A block in shared memory, or a part of one: programs have a copy each in `data`.

    `data` is `(batch, *allocation)`, and is written in place. `rows` are the programs that a part
    of the batch has, None for all. `at` are the indexes of leading dimensions, of all programs or
    of each; `views` turn what is read then.
    """

    data: torch.Tensor
    rows: torch.Tensor | None = None
    at: tuple[torch.Tensor, ...] = ()
    views: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = ()

    def read(self) -> torch.Tensor:
        """Return a copy of the contents."""
        found = self.data[self._place()]
        if not self.at and self.rows is None:
            found = found.clone()  # an index with tensors copies already
        for view in self.views:
            found = view(found)
        return found

    def write(self, values: torch.Tensor) -> None:
        """Replace the contents. Raises ValueError for a view."""
        if self.views:
            raise ValueError("a store through a view of shared memory")
        self.data[self._place()] = values

    def _place(self) -> tuple[torch.Tensor | slice, ...]:
        if not self.at:
            return (slice(None) if self.rows is None else self.rows,)
        rows = torch.arange(len(self.data)) if self.rows is None else self.rows
        return (rows, *self.at)


Item = Value | BlockPointer | SharedBlock


def _map(function: Callable[..., Value], *items: Item) -> Item:
    """Apply a function to the values of items of one kind."""
    first = items[0]
    if isinstance(first, Value):
        return function(*items)
    assert isinstance(first, BlockPointer)
    pointers = [item for item in items if isinstance(item, BlockPointer)]
    shape, strides, offsets = (
        tuple(
            function(*values) for values in zip(*(getattr(p, name) for p in pointers), strict=True)
        )
        for name in ("shape", "strides", "offsets")
    )
    base = function(*(pointer.base for pointer in pointers))
    return BlockPointer(base, shape, strides, offsets, first.nan)


def select(item: Item, programs: torch.Tensor) -> Item:
    """Return the value of some programs of the batch."""
    if isinstance(item, SharedBlock):
        rows = programs if item.rows is None else item.rows[programs]
        at = tuple(index if len(index) == 1 else index[programs] for index in item.at)
        return SharedBlock(item.data, rows, at, item.views)

    def chosen(tensor: torch.Tensor | None) -> torch.Tensor | None:
        if tensor is None or tensor.shape[0] == 1:
            return tensor
        return tensor.index_select(0, programs)

    def one(value: Value) -> Value:
        if value.form is not None:
            return Value(value.form.select(programs), wrapped=value.wrapped)
        data = chosen(value.data)
        assert data is not None
        return Value(data, chosen(value.undefined), value.origin, value.wrapped)

    return _map(one, item)


def combine(size: int, parts: Sequence[tuple[torch.Tensor, Item]]) -> Item:
    """Put the values of parts of a batch together; every part has the programs that it is of.

    Raises ValueError for shared memory, of which parts have no whole.
    """
    if any(isinstance(item, SharedBlock) for _, item in parts):
        raise ValueError("shared memory that a branch or a loop chooses")
    indexes = [index for index, _ in parts]

    def one(*values: Value) -> Value:
        block = values[0].data.shape[1:]
        data = values[0].data.new_empty((size, *block))
        for index, value in zip(indexes, values, strict=True):
            data[index] = value.data
        undefined = None
        if any(value.undefined is not None for value in values):
            undefined = torch.zeros((size, *block), dtype=torch.bool)
            for index, value in zip(indexes, values, strict=True):
                if value.undefined is not None:
                    undefined[index] = value.undefined
        return Value(data, undefined, origin(values), wrapped(values))

    return _map(one, *(item for _, item in parts))


def origin(values: Sequence[Value]) -> Location | None:
    """Return the load that left lanes of one of these values undefined."""
    return next((value.origin for value in values if value.origin is not None), None)


def wrapped(values: Sequence[Value]) -> Location | None:
    """Return where an int32 overflowed on the way to one of these values."""
    return next((value.wrapped for value in values if value.wrapped is not None), None)


def any_undefined(values: Sequence[Value]) -> torch.Tensor | None:
    """Return where any of these values is undefined."""
    found: torch.Tensor | None = None
    for value in values:
        if value.undefined is not None:
            found = value.undefined if found is None else found | value.undefined
    return found
