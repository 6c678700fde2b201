"""Triton's IR as Python values: what the parser makes and the executor walks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from grader.emulation.common.location import Location
from grader.emulation.triton_ir.types import Type


@dataclass(slots=True)
class Operation:
    """One operation.

    `words` are the names and symbols between the operation's name and its types (`slt`,
    `relaxed`, `@callee`); `attributes` are the texts of its dictionary. `given` are the types
    before `->` or `to`, `results_types` those after it, or the last ones if there is no arrow.
    """

    name: str
    results: tuple[str, ...]
    operands: tuple[str, ...]
    words: tuple[str, ...]
    attributes: dict[str, str]
    given: tuple[Type, ...]
    result_types: tuple[Type, ...]
    text: str
    location: Location | None = None
    regions: list[Region] = field(default_factory=list)
    # Values that no later operation of the block uses; set by `liveness`.
    dying: tuple[str, ...] = ()
    # Branches: (block, arguments).
    successors: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(slots=True)
class Block:
    """A straight run of operations. Its arguments are values that a branch or a loop gives."""

    name: str
    arguments: list[tuple[str, Type]]
    operations: list[Operation] = field(default_factory=list)


@dataclass(slots=True)
class Region:
    """The blocks of an operation or a function; the first one is the entry."""

    blocks: list[Block] = field(default_factory=list)

    @property
    def entry(self) -> Block:
        """The first block."""
        return self.blocks[0]

    def operations(self) -> Iterator[Operation]:
        """Yield all operations, each before those in its regions."""
        for block in self.blocks:
            for op in block.operations:
                yield op
                for inner in op.regions:
                    yield from inner.operations()


@dataclass(slots=True)
class Function:
    """A kernel, or a function that it calls."""

    name: str
    arguments: list[tuple[str, Type]]
    result_types: tuple[Type, ...]
    body: Region
    public: bool
    location: Location | None = None


@dataclass(slots=True)
class Module:
    """What one launch compiles to."""

    functions: dict[str, Function]
    # Names of layouts, as #blocked, and what they stand for; only the GPU dialect has them.
    encodings: dict[str, str] = field(default_factory=dict)
    # Of the executor: the programs of a batch, and whether each runs by itself.
    plan: tuple[int, bool] | None = None
    # Of the executor: the values of constants, by the `id` of their operation.
    constants: dict[int, Any] = field(default_factory=dict)

    @property
    def kernel(self) -> Function:
        """The one public function."""
        return next(function for function in self.functions.values() if function.public)
