"""Memory of a launch: arguments, shared and local memory, and the checks of one access.

    address ─→ the window it belongs to ─→ inside, aligned, not a store to an input?  else a finding
                                            written before it is read?                else a finding
                                            ordered with what other threads did?      else a finding

Each array lies in a window of 2^44 bytes of its own, so that an address tells its array however far
an index goes astray. Shared memory has a copy for each block of a batch, local memory for each
thread; both follow each other in one array of bytes. Lanes that fail a check take no part in the
access: a load gives zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from grader.emulation.common import findings
from grader.emulation.common.findings import Access, Finding, Findings, Kind, Severity
from grader.emulation.common.location import Location
from grader.emulation.common.storage import Storage, View, holds_pattern
from grader.emulation.ptx import races
from grader.emulation.ptx.operations import Values

_WINDOW = np.int64(44)
_MIDDLE = 1 << 43
_FIRST = 1 << 17
SHARED_BYTES = 48 << 10  # of a block, static and dynamic
_NO_BYTES: Values = np.empty(0, dtype="u1")

_NEGATIVE_HINT = "the index is negative, or a product has overflowed: test every index before use"
_HINTS: dict[str, str] = {
    "out_of_bounds": "the last block has threads past the end: test every index, `if i < n:`, "
    "before the access",
    "race": "put `cuda.syncthreads()` between the accesses if the threads are of one block; "
    "between blocks nothing is ordered: use `cuda.atomic`, or launch another kernel",
    "uninitialized": "something must write an element before it is read",
    "misaligned": "an address must be a multiple of the size of what is read there",
    "barrier": "let all threads of the block reach the same `cuda.syncthreads()`: no `return` and "
    "no `if` may keep some of them from it",
}


@dataclass(slots=True, kw_only=True)
class Window:
    """An array: the bytes that the machine accesses, with a copy for each owner."""

    name: str
    base: int  # the address of the first element
    size: int  # bytes of one copy
    item: int
    data: Values  # uint8: of all copies
    start: int = 0  # of the array in `data`
    space: str = "global"
    read_only: bool = False
    storage: Storage | None = None  # of an argument
    written: Values | None = None  # of shared memory: which bytes
    traces: races.Traces | None = None


# Of an access that is in no array.
NOWHERE = Window(name="", base=0, size=0, item=1, data=_NO_BYTES, space="")


@dataclass(slots=True, kw_only=True)
class Lanes:
    """Who makes an access: for each lane its thread in the batch, and what orders it."""

    threads: Values
    blocks: Values  # in the batch
    epochs: Values
    warp_epochs: Values


@dataclass(frozen=True, slots=True)
class Part:
    """Of an access, what falls into one window: by which of the `lanes`, and at which bytes."""

    window: Window
    access: Access
    lanes: Lanes
    mine: Values  # the numbers of those lanes
    line: int | None
    size: int = 0  # bytes of a lane
    # Of a lane's first byte: from the first element, then in the data.
    offsets: Values = field(default_factory=lambda: _NO_BYTES)

    def only(self, which: Values | slice) -> Part:
        """Return what some of the lanes do."""
        return replace(self, mine=self.mine[which], offsets=self.offsets[which])

    def element(self, lane: int) -> int:
        """Return the element of the array that the lane accesses; `offsets` are in the data."""
        window = self.window
        return int(self.offsets[lane] - window.start) % max(window.size, 1) // window.item


@dataclass(slots=True)
class Memory:
    """The windows of a launch. With `checked`, unwritten memory and races are found, too."""

    found: Findings
    checked: bool
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (1, 1, 1)
    first_block: int = 0  # of the batch
    loaded_bytes: int = 0
    stored_bytes: int = 0
    windows: list[Window] = field(default_factory=list)
    own: int = 0  # windows that belong to the launch, before those of a batch
    blocks_ordered: bool = False  # they run one after the other, and meet at atomics
    watch: Callable[[Access, int, Values, Values, int | None], None] | None = None

    def begin(self, grid: tuple[int, int, int], block: tuple[int, int, int]) -> None:
        """Start a launch without arrays."""
        self.grid, self.block = grid, block
        self.windows = []

    def add_view(self, view: View) -> int:
        """Add an argument; return the address of its first element."""
        storage = view.storage
        storage.begin_launch()
        low = (storage.address + view.offset) & 255
        window = Window(
            name=view.name,
            base=self._base() + low,
            size=view.size,
            item=view.item,
            data=storage.data.numpy(),
            start=view.offset,
            read_only=view.read_only,
            storage=storage,
        )
        known = next((one for one in self.windows if one.storage is storage), None)
        if self.checked and storage.writable:
            window.traces = known.traces if known else _traces(storage.size, view.item)
        self.windows.append(window)
        return window.base

    def add_array(self, name: str, space: str, size: int, copies: int, data: bytes = b"") -> int:
        """Add memory of the kernel's own; return its address."""
        content = np.zeros(size * copies, dtype="u1")
        if data:
            content[:] = np.tile(np.frombuffer(data, dtype="u1"), copies)
        window = Window(
            name=name, base=self._base(), size=size, item=1, data=content, space=space,
            read_only=space == "const",
        )  # fmt: skip
        if space == "shared" and self.checked:
            window.written = np.zeros(size * copies, dtype=bool)
            window.traces = _traces(size * copies, 1)
        self.windows.append(window)
        return window.base

    def _base(self) -> int:
        return ((_FIRST + len(self.windows)) << int(_WINDOW)) + _MIDDLE

    # ---- one access ----

    def parts_of(
        self, access: Access, size: int, addresses: Values, lanes: Lanes, line: int | None
    ) -> list[Part]:
        """Check an access of `size` bytes in each lane; return what of it may go on."""
        numbers = (addresses >> _WINDOW) - _FIRST
        parts = []
        alone = bool((numbers == numbers[0]).all())  # as a rule, and quicker to find out
        for number in (numbers[:1] if alone else np.unique(numbers)).tolist():
            mine = np.flatnonzero(numbers == number)
            if not 0 <= number < len(self.windows):
                words = findings.wild(access, len(mine), "array")
                self.report("out_of_bounds", words, Part(NOWHERE, access, lanes, mine[:1], line))
                continue
            window = self.windows[number]
            offsets = addresses[mine] - window.base
            part = self._allowed(Part(window, access, lanes, mine, line, size, offsets))
            if len(part.mine):
                parts.append(self._placed(part))
        return parts

    def _allowed(self, part: Part) -> Part:
        """Return the lanes that are inside, aligned, and may do that."""
        window, access, size = part.window, part.access, part.size
        good = (part.offsets >= 0) & (part.offsets <= window.size - size)
        if not bool(good.all()):
            self._outside(part.only(~good))
        uneven = ((part.offsets + window.base) & (size - 1)) != 0
        if bool(uneven.any()):
            bad = part.only(uneven)
            rest = int(bad.offsets[0] + window.base) % size
            self.report("misaligned", findings.misaligned(access, window.name, size, rest), bad)
            good &= ~uneven
        if not bool(good.all()):
            part = part.only(good)
        if not (window.read_only and access != "load" and len(part.mine)):
            return part
        self.report(
            "out_of_bounds", findings.read_only(window.name, len(part.mine)), part,
            element=int(part.offsets[0]) // window.item, read_only=True,
        )  # fmt: skip
        return part.only(slice(0, 0))

    def _placed(self, part: Part) -> Part:
        """Return the part with its offsets in the window's data, after what counts accesses."""
        window, lanes, mine, offsets = part.window, part.lanes, part.mine, part.offsets
        if window.space == "shared":
            offsets = offsets + lanes.blocks[mine] * window.size
        elif window.space == "local":
            offsets = offsets + lanes.threads[mine] * window.size
        elif window.space == "global":
            if self.watch is not None:
                threads = lanes.threads[mine]
                self.watch(part.access, part.size, offsets + window.base, threads, part.line)
            self.loaded_bytes += part.size * len(mine) * (part.access != "store")
            self.stored_bytes += part.size * len(mine) * (part.access != "load")
        part = replace(part, offsets=offsets + window.start)
        if window.written is not None or window.storage is not None:
            self._written(part)
        return part

    def _outside(self, bad: Part) -> None:
        # Those of the first block that goes astray: one student's mistake is in all of them.
        blocks = bad.lanes.blocks[bad.mine]
        of_block, window = bad.only(blocks == blocks[0]), bad.window
        low, high = (
            int(end) // window.item for end in (of_block.offsets.min(), of_block.offsets.max())
        )
        numbers = len(of_block.mine), low, high
        words = findings.outside(bad.access, window.name, numbers, window.size // window.item)
        if window.space == "shared":
            words += f", shared memory of {window.size:,} bytes"
        self.report(
            "out_of_bounds", words, of_block, element=low if low < 0 else high,
            hint=_NEGATIVE_HINT if low < 0 else "", times=len(bad.mine),
        )  # fmt: skip

    def _written(self, part: Part) -> None:
        """Check reads of memory that nothing has written, and remember writes."""
        storage, written = part.window.storage, part.window.written
        if storage is not None:
            storage.touched |= part.access != "load"
            if storage.written is None:
                return
            storage.refine(part.size)
            written = storage.written.numpy()
            unit = storage.granule
        else:
            unit = 1
        assert written is not None
        cells = (part.offsets // unit)[:, None] + np.arange(max(part.size // unit, 1))
        if part.access != "store":
            fresh = ~written[cells].all(1)
            if storage is not None and bool(fresh.any()):
                places = np.flatnonzero(fresh)
                there = torch.from_numpy(part.offsets[places])
                fresh[places] = holds_pattern(storage, there, part.size).numpy()
            if bool(fresh.any()):
                bad = part.only(fresh)
                at = bad.element(0)
                words = findings.unwritten(part.window.name, len(bad.mine), at)
                if storage is None:
                    words = f"reads shared memory that its block has not written, at byte {at:,}"
                self.report("uninitialized", words, bad, element=at)
        if part.access != "load":
            written[cells.reshape(-1)] = True

    def report(
        self,
        kind: Kind,
        message: str,
        part: Part,
        *,
        element: int | None = None,
        hint: str = "",
        severity: Severity = "error",
        read_only: bool = False,
        times: int | None = None,
        met: races.Meeting | None = None,
    ) -> None:
        """Add a finding of the part's lanes, which is at the first of them."""
        block, thread = self._place(part, 0)
        space = part.window.space
        finding = Finding(
            kind=kind,
            severity=severity,
            message=message,
            hint=hint or _HINTS[kind],
            access=part.access,
            tensor=part.window.name if space not in ("shared", "") else None,
            element=element,
            program=_triple(block, self.grid),
            thread=_triple(thread, self.block),
            block_size=self.block,
            space="shared" if space == "shared" else "global",
            read_only=read_only,
            count=times if times is not None else len(part.mine),
        )
        if met is not None:
            other_block, other_thread = divmod(met.other, math.prod(self.block))
            if other_block != block:
                finding.other_program = _triple(other_block, self.grid)
            finding.other_thread = _triple(other_thread, self.block)
            finding.other_line, finding.other_access = met.line or None, met.access
        self.found.add(finding, None if part.line is None else Location("", part.line, 0))

    def _place(self, part: Part, lane: int) -> tuple[int, int]:
        """Return a lane's block in the grid and its thread in that."""
        number, lanes = part.mine[lane], part.lanes
        thread = int(lanes.threads[number]) % math.prod(self.block)
        return self.first_block + int(lanes.blocks[number]), thread

    # ---- what an access does ----

    def load(
        self,
        kind: np.dtype[Any],
        count: int,
        addresses: Values,
        lanes: Lanes,
        line: int | None,
        *,
        strong: bool = False,
    ) -> Values:
        """Return so many values of a type for each lane, which are at its address.

        A `strong` load is a part of an atomic operation, or volatile.
        """
        result = np.zeros((len(addresses), count), dtype=kind)
        for part in self.parts_of("load", kind.itemsize * count, addresses, lanes, line):
            self._race(replace(part, access="atomic") if strong else part)
            typed, index = _typed(part, kind, count)
            result[part.mine] = typed[index]
        return result

    def store(self, values: Values, addresses: Values, lanes: Lanes, line: int | None) -> None:
        """Write values of one type, a row for each lane."""
        count = values.shape[1]
        for part in self.parts_of("store", values.itemsize * count, addresses, lanes, line):
            typed, index = _typed(part, values.dtype, count)
            self._race(part, typed[index], values[part.mine])
            typed[index] = values[part.mine]

    def update(
        self,
        operate: Callable[[Values, Values], Values],
        operand: Values,
        addresses: Values,
        lanes: Lanes,
        line: int | None,
    ) -> Values:
        """Do an atomic operation; return what was there before."""
        result = np.zeros(len(addresses), dtype=operand.dtype)
        for part in self.parts_of("atomic", operand.itemsize, addresses, lanes, line):
            self._race(part)
            typed, rows = _typed(part, operand.dtype, 1)
            index = rows[:, 0]
            # Lanes of one address one after the other: the first of each, then the second of each …
            rest = np.arange(len(index))
            while len(rest):
                _, first = np.unique(index[rest], return_index=True)
                now = rest[first]
                old = typed[index[now]]
                result[part.mine[now]] = old
                typed[index[now]] = operate(old, operand[..., part.mine[now]])
                rest = np.delete(rest, first)
        return result

    def _race(self, part: Part, before: Values | None = None, values: Values | None = None) -> None:
        traces, lanes, mine = part.window.traces, part.lanes, part.mine
        if traces is None or not self.checked:
            return
        differs, bits = np.ones(len(mine), dtype=bool), None
        if before is not None and values is not None:
            bits = _as_bits(values)
            differs = (_as_bits(before) != bits).any(1)
        per_block = math.prod(self.block)
        who = races.Who(
            threads=lanes.threads[mine] + self.first_block * per_block,
            blocks=lanes.blocks[mine] + self.first_block,
            epochs=lanes.epochs[mine],
            warp_epochs=lanes.warp_epochs[mine],
            per_block=per_block,
            line=part.line or 0,
        )
        access, ordered = part.access, self.blocks_ordered
        for met in traces.access(
            access, part.offsets, part.size, who, differs, bits, ordered=ordered
        ):
            self._meeting(part, met)

    def _meeting(self, part: Part, met: races.Meeting) -> None:
        window, access, at = part.window, part.access, part.element(met.lane)
        block, _ = self._place(part, met.lane)
        other_block = met.other // math.prod(self.block)
        shared = window.space == "shared"
        where = f"byte {at:,} of shared memory" if shared else f"element {at:,} of `{window.name}`"
        verbs = {"load": "reads", "store": "writes", "atomic": "updates"}
        also = " as well" if met.access == access else ""
        if block == other_block:
            who = "another thread of its block"
            why = "no barrier stands between"
        else:
            who = f"block {_index(_triple(other_block, self.grid), self.grid)}"
            why = "nothing orders blocks"
        words = f"{verbs[access]} {where}, which {who} {verbs[met.access]}{also}: {why}"
        flag = window.space == "global" and "atomic" in (access, met.access)
        self.report(
            "race", words, part.only(slice(met.lane, met.lane + 1)), element=at,
            severity="warning" if met.same or flag else "error", times=met.count, met=met,
        )  # fmt: skip


def _traces(size: int, unit: int) -> races.Traces:
    return races.Traces(-(-size // unit), unit)


def _as_bits(values: Values) -> Values:
    return np.ascontiguousarray(values).view(f"u{values.itemsize}")


def _typed(part: Part, kind: np.dtype[Any], count: int) -> tuple[Values, Values]:
    """Return the bytes of a window as elements of a type, and those of the lanes, in rows."""
    data, size = part.window.data, kind.itemsize
    shift = int(part.offsets[0]) % size
    whole = (len(data) - shift) // size * size
    first = (part.offsets - shift) // size
    return data[shift : shift + whole].view(kind), first[:, None] + np.arange(count)


def _triple(number: int, extents: tuple[int, int, int]) -> tuple[int, int, int]:
    x, y, _ = extents
    return number % x, number // x % y, number // (x * y)


def _index(place: tuple[int, int, int], extents: tuple[int, int, int]) -> str:
    return str(place[0]) if extents[1:] == (1, 1) else f"({','.join(map(str, place))})"
