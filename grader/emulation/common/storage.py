"""Allocations and views of them, and what is known of each cell: who touched it, who wrote it.

A cell is the smallest access that a storage has seen.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import torch

from grader.emulation.common.findings import Access
from grader.emulation.common.regions import Region
from grader.protocol.launches import PATTERN

_NOBODY = torch.iinfo(torch.int32).max
_MOST_WAITING = 4096  # regions
_MOST_COMPARED = 256  # of them, before cells are cheaper


class Trace:
    """Who did one kind of access to each cell in this launch, and at which place last.

    Regions wait until something asks about their cells: most never meet another access.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._cells: tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None = None
        self._waiting: list[tuple[Region, torch.Tensor, int]] = []

    def cells(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return of each cell the least and the greatest program (or -1), and the last place."""
        if self._cells is None:
            count = -(-self._storage.size // self._storage.granule)
            self._cells = (
                torch.full((count,), _NOBODY, dtype=torch.int32),
                torch.full((count,), -1, dtype=torch.int32),
                torch.zeros(count, dtype=torch.int32),
            )
        waiting, self._waiting = self._waiting, []
        unit = self._storage.granule
        for region, programs, place in waiting:
            if region.apart:
                least, most, places = (region.of(array, unit) for array in self._cells)
                owners = region.owners(programs, unit)
                least.copy_(torch.minimum(least, owners))
                most.copy_(torch.maximum(most, owners))
                places.fill_(place)
            else:
                cells = region.places(unit)
                owners = region.owners(programs, unit).expand(cells.shape)
                self.mark(cells.reshape(-1), owners.reshape(-1), place)
        return self._cells

    def mark(self, cells: torch.Tensor, programs: torch.Tensor, place: int) -> None:
        """Programs touch cells."""
        least, most, places = self.cells()
        least.scatter_reduce_(0, cells, programs, "amin")
        most.scatter_reduce_(0, cells, programs, "amax")
        places.numpy()[cells.numpy()] = place

    def add(self, region: Region, programs: torch.Tensor, place: int) -> None:
        """Programs touch a region."""
        self._waiting.append((region, programs, place))
        if len(self._waiting) > _MOST_WAITING:
            self.cells()

    def is_mine(self, region: Region, programs: torch.Tensor) -> bool:
        """True if no cell of a region was touched by another program than its own."""
        few = self._cells is None and len(self._waiting) <= _MOST_COMPARED
        if few and not any(region.may_meet(one) for one, _, _ in self._waiting):
            return True
        unit = self._storage.granule
        least, most = (region.of(array, unit) for array in self.cells()[:2])
        owners = region.owners(programs, unit)
        return bool((least >= owners).numpy().all() and (most <= owners).numpy().all())

    def refine(self, factor: int, cells: int) -> None:
        """Split every cell."""
        if self._cells is not None:
            least, most, place = (array.repeat_interleave(factor)[:cells] for array in self._cells)
            self._cells = least, most, place


class Storage:
    """One allocation: its bytes, and what is known about them."""

    def __init__(
        self,
        data: torch.Tensor,
        *,
        address: int,
        writable: bool,
        bare: bool,
        granule: int = 4,
        pattern: bytes = PATTERN,
    ) -> None:
        self.data = data  # uint8, one dimension
        self.address = address
        self.writable = writable
        self.size = data.numel()
        self.granule = granule
        # Which cells a kernel has written; None where everything was written before.
        self.written = torch.zeros(-(-self.size // granule), dtype=torch.bool) if bare else None
        self.traces: dict[Access, Trace] = {}
        self.pattern = pattern  # what `bare` memory is filled with
        self.touched = False  # a kernel has written here in this launch

    def begin_launch(self) -> None:
        """Forget who touched what: launches are ordered."""
        self.traces = {}
        self.touched = False

    def refine(self, size: int) -> None:
        """Make cells as small as an access of `size` bytes."""
        if size >= self.granule:
            return
        factor = self.granule // size
        cells = -(-self.size // size)
        if self.written is not None:
            self.written = self.written.repeat_interleave(factor)[:cells]
        for trace in self.traces.values():
            trace.refine(factor, cells)
        self.granule = size

    def cells(self, offsets: torch.Tensor, size: int) -> torch.Tensor:
        """Return the cells of accesses at byte offsets, one row for each."""
        self.refine(size)
        first = offsets >> self.granule.bit_length() - 1  # a power of two: a division is slow
        if size == self.granule:
            return first
        return first[:, None] + torch.arange(size // self.granule)

    def trace(self, access: Access) -> Trace:
        """Return the trace of one kind of access in this launch."""
        if access not in self.traces:
            self.traces[access] = Trace(self)
        return self.traces[access]

    def typed(self, kind: torch.dtype, shift: int) -> torch.Tensor:
        """Return the bytes from `shift` on as elements of a type."""
        size = kind.itemsize
        whole = (self.size - shift) // size * size
        return self.data[shift : shift + whole].view(kind)


@dataclass(slots=True, kw_only=True)
class View:
    """A tensor that a kernel gets: part of a storage. Offsets and sizes in bytes."""

    name: str
    storage: Storage
    offset: int
    size: int
    item: int
    read_only: bool
    # Which elements from the first on belong to it; None if all do.
    members: torch.Tensor | None = None
    address: int = 0


def is_filled(data: torch.Tensor, pattern: bytes) -> torch.Tensor:
    """Return which bytes are those of a repeated pattern."""
    return data == repeated(pattern, data.numel())


def repeated(pattern: bytes, size: int) -> torch.Tensor:
    """Return so many bytes of a repeated pattern."""
    one = torch.frombuffer(bytearray(pattern), dtype=torch.uint8)
    return one.repeat(-(-size // len(pattern)))[:size]


def holds_pattern(storage: Storage, offsets: torch.Tensor, size: int) -> torch.Tensor:
    """Return where memory still holds the pattern of never-written memory.

    A byte or two may hold it by chance: four are compared at least.
    """
    width, period = max(size, 4), len(storage.pattern)
    first = offsets if size >= 4 else offsets // width * width
    if not len(first):
        return torch.zeros(0, dtype=torch.bool)
    shift = int(first[0]) % width
    if width % period == 0 and (storage.size - shift) % width == 0:
        # As whole numbers: accesses that got here are aligned alike.
        expected = (storage.pattern * (width + 1))[shift % period :][:width]
        kind = torch.int32 if width == 4 else torch.int64
        number = int.from_bytes(expected, sys.byteorder, signed=True)
        return storage.typed(kind, shift)[(first - shift) >> width.bit_length() - 1] == number
    width = min(width, storage.size)
    at = first.clamp(max=storage.size - width)[:, None] + torch.arange(width)
    pattern = torch.frombuffer(bytearray(storage.pattern), dtype=torch.uint8)
    return (storage.data[at] == pattern[at % period]).all(1)
