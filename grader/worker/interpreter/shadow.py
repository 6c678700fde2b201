"""What is remembered about memory: who touched it last, and what nobody has written.

One `Shadow` per torch storage, so that all views of it share what is known.
Memory is remembered in cells of the smallest access seen (its granule).

Time is counted in stamps: a new one at each program's start and after each
release by a scalar atomic, never reused. Programs run one after the other, so
a cell's stamp says all about a race: below the launch's first stamp it is from
before the launch; between that and this program's first stamp it is another
program's; above, one's own.

    launch's first          own first            now
    ──────┬──────────────────────┬────────────────┬──→
    past  │  other programs      │  this program  │

Two programs that meet at scalar atomics with acquire and release (a lock, a
"last one adds up" counter) are ordered: `Clock.ordered` drops those.

Never-written memory is known twice over: no kernel has stored there, and the
bits are still the pattern that the memory was filled with. So torch's own
operations (`zero_`, `copy_`) count as writing without being watched.
"""

from typing import Any

import numpy as np

_Array = np.ndarray[Any, np.dtype[Any]]
# Where a set of cells lies: a run of neighbours, or any cells.
_Where = slice | _Array

_ALIGN = 32  # shadows begin at a multiple of a sector, and so of every element size


class Clock:
    """Stamps of one launch, and which other programs' work this one may rely on."""

    def __init__(self, first: int) -> None:
        self.launch = first
        self.own = first
        self.now = first
        self._owners: list[tuple[int, int, int]] = []
        self._program = (0, 0, 0)
        self._acquired: dict[tuple[int, int, int], int] = {}
        self._released: dict[int, dict[tuple[int, int, int], int]] = {}

    def start(self, program: tuple[int, int, int]) -> None:
        """Start a program."""
        self._program = program
        self._owners.append(program)
        self.now = self.own = self.launch + len(self._owners) - 1
        if self._acquired:
            self._acquired = {}

    def owner(self, stamp: int) -> tuple[int, int, int]:
        """Return the program that a stamp of this launch belongs to."""
        return self._owners[stamp - self.launch]

    def meet(self, address: int, *, acquire: bool, release: bool) -> None:
        """This program has done a scalar atomic on `address`."""
        left = self._released.get(address)
        if acquire and left:
            for program, stamp in left.items():
                if stamp > self._acquired.get(program, 0):
                    self._acquired[program] = stamp
        if release:
            left = self._released.setdefault(address, {})
            left.update(self._acquired)
            left[self._program] = self.now
            self._owners.append(self._program)
            self.now += 1

    def foreign(self, stamps: _Array) -> _Array:
        """Return which of the stamps are other programs' of this launch."""
        # Unsigned, so that one comparison tests both ends.
        since: _Array = (stamps - self.launch).view(np.uint32)
        return since < self.own - self.launch

    def ordered(self, stamps: _Array) -> _Array:
        """Return which of these foreign stamps happened before this moment by synchronisation."""
        values, inverse = np.unique(stamps, return_inverse=True)
        known = [self._acquired.get(self.owner(int(s)), 0) >= s for s in values]
        return np.array(known, dtype=bool)[inverse.reshape(-1)]

    @property
    def synchronised(self) -> bool:
        """True if this program relies on another's release."""
        return bool(self._acquired)


class Trace:
    """The stamps of one sort of access: the last, and the last by another program."""

    def __init__(self, cells: int, *, twice: bool) -> None:
        self.last: _Array = np.zeros(cells, np.int32)
        self._before: _Array | None = None
        self._twice = twice
        self.newest = 0
        self._lines: dict[int, int | None] = {}

    def conflict(self, where: _Where, clock: Clock) -> tuple[_Array, _Array] | None:
        """Return (which cells another program touched, their stamps), None if none."""
        if self.newest < clock.launch or clock.own == clock.launch:
            return None
        stamps = self.last[where]
        foreign = clock.foreign(stamps)
        if self._before is not None:
            before = self._before[where]
            stamps = np.where(foreign, stamps, before)
            foreign |= clock.foreign(before)
        if not foreign.any():
            return None
        if clock.synchronised:
            foreign[foreign] = ~clock.ordered(stamps[foreign])
            if not foreign.any():
                return None
        return foreign, stamps

    def line(self, stamp: int) -> int | None:
        """Return the line of the accesses with that stamp; None if there were several."""
        return self._lines.get(stamp)

    def mark(self, where: _Where, clock: Clock, line: int | None) -> None:
        """This program touches these cells, in this line."""
        if self._twice and self.newest >= clock.launch and clock.own > clock.launch:
            stamps = self.last[where]
            foreign = clock.foreign(stamps)
            if foreign.any():
                if self._before is None:
                    self._before = np.zeros_like(self.last)
                if isinstance(where, slice):
                    self._before[where][foreign] = stamps[foreign]
                else:
                    self._before[where[foreign]] = stamps[foreign]
        self.last[where] = clock.now
        if self.newest < clock.launch:
            self._lines.clear()
        self.newest = clock.now
        if self._lines.setdefault(clock.now, line) != line:
            self._lines[clock.now] = None

    def refine(self, factor: int) -> None:
        """Make the cells smaller."""
        self.last = np.repeat(self.last, factor)
        if self._before is not None:
            self._before = np.repeat(self._before, factor)


class Shadow:
    """What is known about one storage."""

    def __init__(self, address: int, size: int, granule: int, storage: Any) -> None:
        self.base = address - address % _ALIGN
        self.size = address % _ALIGN + size
        self.granule = granule
        self.storage = storage
        cells = self._cells(granule)
        self.writers = Trace(cells, twice=False)
        self.readers = Trace(cells, twice=True)
        self.updaters: Trace | None = None
        self._lanes: _Array | None = None
        self._unwritten: _Array | None = None
        self._pattern = b""

    def holds(self, address: int, size: int) -> bool:
        """Return whether this is the shadow of a storage at that address and of that size."""
        return self.base == address - address % _ALIGN and self.size == address % _ALIGN + size

    def _cells(self, granule: int) -> int:
        # Some bytes more, so that the last element may be read as any type.
        return (self.size + _ALIGN) // granule

    def where(self, offsets: _Array, size: int, run: bool) -> _Where:
        """Return the cells of accesses of `size` bytes at `offsets` from the base.

        `run` says that the accesses follow each other without a gap. Where an
        access is larger than a cell it takes several cells, side by side.
        """
        if size < self.granule:
            self._refine(size)
        factor = size // self.granule
        shift = self.granule.bit_length() - 1
        if run:
            first = int(offsets[0]) >> shift
            return slice(first, first + len(offsets) * factor)
        cells: _Array = offsets >> shift
        if factor > 1:
            cells = (cells[:, None] + np.arange(factor)).reshape(-1)
        return cells

    def _refine(self, granule: int) -> None:
        factor = self.granule // granule
        for trace in (self.writers, self.readers, self.updaters):
            if trace is not None:
                trace.refine(factor)
        self._lanes = None
        self.granule = granule

    def atomics(self) -> Trace:
        """Return the trace of atomic accesses, made when first needed."""
        if self.updaters is None:
            self.updaters = Trace(self._cells(self.granule), twice=True)
        return self.updaters

    def met(self, where: _Where) -> _Array | None:
        """Return each entry's last entry with the same cell; None if all cells differ."""
        if isinstance(where, slice):
            return None
        if self._lanes is None:
            self._lanes = np.zeros(self._cells(self.granule), np.int32)
        own = np.arange(len(where), dtype=np.int32)
        self._lanes[where] = own
        last: _Array = self._lanes[where]
        return None if np.array_equal(last, own) else last

    def uninitialise(self, low: int, high: int, pattern: bytes) -> None:
        """Bytes from `low` to `high` hold the repeated `pattern`, and nobody has written them."""
        if self._unwritten is None:
            self._unwritten = np.zeros(-(-(self.size + _ALIGN) // 8) * 8, np.uint8)
        self._unwritten[low - self.base : high - self.base] = 1
        self._pattern = (pattern * 8)[:8]

    def initialise(self, low: int, high: int) -> None:
        """Bytes from `low` to `high` were written by other means than a kernel's."""
        if self._unwritten is not None:
            self._unwritten[low - self.base : high - self.base] = 0

    def unwritten(self, offsets: _Array, size: int, peek: Any) -> _Array | None:
        """Return which accesses read memory that was never written; None if none do.

        Single bytes are left out: a byte of the pattern is a likely value too.
        """
        if self._unwritten is None or size == 1:
            return None
        shift = size.bit_length() - 1
        words = self._unwritten.view(f"u{size}")
        cells = offsets >> shift
        suspected = words[cells] != 0
        if not suspected.any():
            return None
        value = int.from_bytes(self._pattern[:size], "little")
        found = suspected.copy()
        found[suspected] = peek(offsets[suspected] + self.base, size) == value
        # Written by other means than a kernel's: look no further.
        words[cells[suspected & ~found]] = 0
        return found if found.any() else None

    def written(self, offsets: _Array, size: int, run: bool) -> None:
        """A kernel stores to these bytes."""
        if self._unwritten is None:
            return
        if run:
            self._unwritten[int(offsets[0]) : int(offsets[0]) + len(offsets) * size] = 0
        else:
            self._unwritten.view(f"u{size}")[offsets >> (size.bit_length() - 1)] = 0

    def touched(self, trace: Trace | None, since: int) -> int:
        """Return the bytes that a trace has seen since a stamp."""
        if trace is None or trace.newest < since:
            return 0
        return int(np.count_nonzero(trace.last >= since)) * self.granule
