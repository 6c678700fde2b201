"""Record the launches of a call, so that a GPU can replay them without the submission.

A recording is a file of little-endian words of 64 bits:

    MAGIC                                       once, at its start
    CALL                                        a call begins: no storage is left of earlier ones
    ALLOCATE id bytes saved                     a storage; with `saved`, its end state is wanted
    FREE id
    WRITE id offset bytes, then the bytes       what host code has written; padded to a word
    ADDRESS id offset target target_offset      host code has written the address of a storage
    LAUNCH kernel x y z count, then arguments   kernel: the position of its `launch` record
        POINTER id offset | NUMBER bits | DESCRIPTOR id offset rank nan extents… steps…
    END                                         the call is over

What kernels write is not recorded, because a replay writes it again. Bytes without a WRITE are
uninitialised when the kernels run, so that initcheck finds who reads them.
`build/replay/replay.cpp` reads a recording.
"""

import functools
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Concatenate, ParamSpec

import torch

from grader.emulation.common.storage import Storage, View, is_filled
from grader.emulation.triton_ir.execution import Argument, DescriptorArgument
from grader.emulation.triton_ir.types import Type, dtype_of
from grader.protocol.launches import PATTERN
from grader.worker.launch_arguments import Given

MAGIC = int.from_bytes(b"LAUNCHES", "little")
CALL, ALLOCATE, FREE, WRITE, ADDRESS, LAUNCH, END = range(1, 8)
POINTER, NUMBER, DESCRIPTOR = range(1, 4)

_MOST_BYTES = 1 << 30
_MOST_RUNS = 1000  # of one write; more are written as one, with what is between them
_WORD = 8
_MASK = (1 << 64) - 1
P = ParamSpec("P")


def _noting_problems(
    method: Callable[Concatenate["Recording", P], None],
) -> Callable[Concatenate["Recording", P], None]:
    """Make a method note its failure as the recording's problem: the worker is not at fault."""

    @functools.wraps(method)
    def noting(self: "Recording", /, *given: P.args, **named: P.kwargs) -> None:
        if self.problem is None:
            try:
                method(self, *given, **named)
            except Exception as error:  # torch raises many kinds
                self.problem = f"the launches cannot be recorded: {type(error).__name__}: {error}"

    return noting


class _Scratch:
    """An allocation of the submission: its number, and what its process knows of the content."""

    def __init__(self, number: int, address: int, data: torch.Tensor) -> None:
        self.number = number
        self.address = address
        self.data = data

    def overlaps(self, address: int, size: int) -> bool:
        """True if both have an address in common."""
        return address < self.address + self.data.numel() and self.address < address + size


class Recording:
    """A recording that is being written. `problem` says why it is of no use, if it is not."""

    def __init__(self, file: Path) -> None:
        self._file = file.open("wb")
        self._bytes = 0
        self._next = 0
        self._slots: dict[int, int] = {}
        self._scratch: list[_Scratch] = []
        self.problem: str | None = None
        self._words(MAGIC)

    @_noting_problems
    def begin(self) -> None:
        """Start a call."""
        self._slots.clear()
        self._scratch.clear()
        self._words(CALL)

    @_noting_problems
    def buffer(self, slot: int, data: torch.Tensor, *, saved: bool, bare: bool) -> None:
        """Add a buffer of the judge's to the call; nothing has written a `bare` one."""
        self._slots[slot] = self._allocate(data.numel(), saved=saved)
        if not bare:
            self._write(self._slots[slot], data, 0, data.numel())

    @_noting_problems
    def written(self, slot: int, data: torch.Tensor, changed: torch.Tensor) -> None:
        """Host code has written those bytes of a buffer of the judge's."""
        self._changes(self._slots[slot], data, changed)

    @_noting_problems
    def end(self) -> None:
        """End the call."""
        self._words(END)
        self._file.flush()  # the judge reads the file between calls

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @_noting_problems
    def launch(
        self,
        kernel: int,
        grid: tuple[int, int, int],
        arguments: Sequence[tuple[Argument, Type]],
        storages: Sequence[Given],
    ) -> None:
        """Add a launch, before it is executed."""
        items: dict[int, int] = {}  # the smallest elements of a storage, bytes
        for argument, _ in arguments:
            view = argument.view if isinstance(argument, DescriptorArgument) else argument
            if isinstance(view, View):
                before = items.get(id(view.storage), view.item)
                items[id(view.storage)] = min(view.item, before)
        known = {
            id(given.storage): self._number(given, items.get(id(given.storage), _WORD))
            for given in storages
        }
        for given in storages:
            if given.slot is None and items.get(id(given.storage)) == _WORD:
                self._addresses(known, given.storage, storages)
        self._words(LAUNCH, kernel, *grid, len(arguments))
        for argument, kind in arguments:
            self._argument(argument, kind, known, storages)

    def _number(self, given: Given, item: int) -> int:
        """Return a storage's number; record which elements host code has written into it."""
        if given.slot is not None:
            return self._slots[given.slot]
        data, address, fresh = given.storage.data, given.storage.address, given.fresh
        for scratch in self._scratch:
            if scratch.address != address or scratch.data.numel() != data.numel():
                continue
            empty = fresh and bool(is_filled(data, PATTERN).all())
            if empty and not bool(is_filled(scratch.data, PATTERN).all()):
                break  # another one, at the same place
            # Whole elements: half of one here and half of a GPU's would be another number.
            changed = _spread(scratch.data != data, item)
            self._changes(
                scratch.number, data, changed & ~_unwritten(data, item) if fresh else changed
            )
            scratch.data = data  # in which the executor writes
            return scratch.number
        for old in [one for one in self._scratch if one.overlaps(address, data.numel())]:
            self._words(FREE, old.number)
            self._scratch.remove(old)
        number = self._allocate(data.numel(), saved=False)
        self._scratch.append(_Scratch(number, address, data))
        written = ~_unwritten(data, item) if fresh else torch.ones_like(data, dtype=torch.bool)
        self._changes(number, data, written)
        return number

    def _addresses(self, known: dict[int, int], table: Storage, storages: Sequence[Given]) -> None:
        """Record which words of a table are addresses of storages."""
        words = table.data[: table.size // _WORD * _WORD].view(torch.int64)
        for target in (given.storage for given in storages):
            here = (words >= target.address) & (words < target.address + target.size)
            for at in torch.nonzero(here).reshape(-1)[:_MOST_RUNS].tolist():
                offset = int(words[at]) - target.address
                self._words(ADDRESS, known[id(table)], at * _WORD, known[id(target)], offset)

    def _argument(
        self,
        argument: Argument,
        kind: Type,
        known: dict[int, int],
        storages: Sequence[Given],
    ) -> None:
        if isinstance(argument, DescriptorArgument):
            view = argument.view
            self._words(DESCRIPTOR, known[id(view.storage)], view.offset)
            self._words(len(argument.shape), argument.nan, *argument.shape, *argument.strides)
        elif isinstance(argument, View):
            self._words(POINTER, known[id(argument.storage)], argument.offset)
        else:
            dtype = dtype_of(kind)
            if dtype is torch.int64:  # possibly an address
                for storage in (given.storage for given in storages):
                    offset = int(argument) - storage.address
                    if 0 <= offset < storage.size:
                        self._words(POINTER, known[id(storage)], offset)
                        return
            self._words(NUMBER, _bits(argument, dtype))

    def _allocate(self, size: int, *, saved: bool) -> int:
        self._next += 1
        self._words(ALLOCATE, self._next, size, saved)
        return self._next

    def _changes(self, number: int, data: torch.Tensor, changed: torch.Tensor) -> None:
        """Record writes of the bytes that have changed."""
        if not bool(changed.any()):
            return
        edge = torch.zeros(1, dtype=torch.int8)
        steps = torch.diff(torch.cat([edge, changed.to(torch.int8), edge]))
        starts = torch.nonzero(steps == 1).reshape(-1)
        stops = torch.nonzero(steps == -1).reshape(-1)
        if len(starts) > _MOST_RUNS:
            starts, stops = starts[:1], stops[-1:]
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
            self._write(number, data, start, stop)

    def _write(self, number: int, data: torch.Tensor, start: int, stop: int) -> None:
        size = stop - start
        if size:
            self._words(WRITE, number, start, size)
            self._put(data[start:stop].numpy().tobytes() + bytes(-size % _WORD))

    def _words(self, *words: int) -> None:
        self._put(struct.pack(f"<{len(words)}Q", *(int(word) & _MASK for word in words)))

    def _put(self, data: bytes) -> None:
        if self._bytes + len(data) > _MOST_BYTES:
            self.problem = f"the launches need a recording of more than {_MOST_BYTES >> 20} MiB"
        if self.problem is None:
            self._bytes += len(data)
            self._file.write(data)


def _spread(chosen: torch.Tensor, item: int) -> torch.Tensor:
    """Return a choice of bytes with all bytes of the elements that have one of them."""
    whole = len(chosen) // item * item
    elements = chosen[:whole].view(-1, item).any(1).repeat_interleave(item)
    return torch.cat([elements, chosen[whole:]])


def _unwritten(data: torch.Tensor, item: int) -> torch.Tensor:
    """Return which bytes nothing has written: elements of the pattern, four bytes at least."""
    return ~_spread(~is_filled(data, PATTERN), max(item, 4))


def _bits(number: float, dtype: torch.dtype) -> int:
    """Return a number as its parameter has it."""
    if not dtype.is_floating_point:
        return int(number)
    content = torch.tensor([number], dtype=dtype).view(torch.uint8)
    return int.from_bytes(bytes(content.tolist()), "little")
