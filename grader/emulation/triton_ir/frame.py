"""The values of a function's names while a batch of programs runs it."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from grader.emulation.common.errors import Unsupported
from grader.emulation.triton_ir.accesses import Accesses
from grader.emulation.triton_ir.ir import Block
from grader.emulation.triton_ir.values import Item, Value, select


class Frame:
    """The values of one function's names, for the programs of a batch or of a part of it."""

    __slots__ = ("_index", "_outer", "accesses", "depth", "programs", "values")

    def __init__(
        self,
        programs: torch.Tensor,
        accesses: Accesses,
        depth: int,
        outer: Frame | None = None,
        index: torch.Tensor | None = None,
    ) -> None:
        self.programs = programs
        self.accesses = accesses
        self.depth = depth
        self.values: dict[str, Item] = {}
        self._outer = outer
        self._index = index

    def part(self, index: torch.Tensor) -> Frame:
        """Return a frame for some programs of this one."""
        programs = self.programs[index]
        accesses = Accesses(self.accesses.memory, programs)
        return Frame(programs, accesses, self.depth, self, index)

    def get(self, name: str) -> Item:
        """Return a value."""
        found = self.values.get(name)
        if found is None:
            if self._outer is None or self._index is None:
                raise Unsupported(f"the value {name}, which nothing defines")
            found = self.values[name] = select(self._outer.get(name), self._index)
        return found

    def value(self, name: str) -> Value:
        """Return a value that is no block pointer."""
        found = self.get(name)
        if not isinstance(found, Value):
            raise Unsupported("arithmetic on a block pointer")
        return found

    def bind(self, block: Block, items: Sequence[Item]) -> None:
        """Give a block its arguments."""
        for (name, _), item in zip(block.arguments, items, strict=True):
            self.values[name] = item
