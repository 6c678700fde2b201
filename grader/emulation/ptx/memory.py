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

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from grader.emulation.ptx import races
from grader.emulation.ptx.operations import Values
from grader.emulation.triton_ir import findings
from grader.emulation.triton_ir.findings import Access, Finding, Findings, Kind, Severity
from grader.emulation.triton_ir.ir import Location
from grader.emulation.triton_ir.storage import Storage, View, holds_pattern

_WINDOW = np.int64(44)
_MIDDLE = 1 << 43
_FIRST = 1 << 17
SHARED_BYTES = 48 << 10  # of a block, static and dynamic

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


@dataclass(slots=True, kw_only=True)
class Lanes:
    """Who makes an access: for each lane its thread in the batch, and what orders it."""

    threads: Values
    blocks: Values  # in the batch
    epochs: Values
    warp_epochs: Values


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

    def lanes_of(
        self, access: Access, size: int, addresses: Values, lanes: Lanes, line: int | None
    ) -> list[tuple[Window, Values, Values]]:
        """Check an access; return (window, lanes, byte offsets in its data) of what may go on."""
        numbers = (addresses >> _WINDOW) - _FIRST
        first = int(numbers[0])
        everyone = np.arange(len(addresses))
        if bool((numbers == first).all()):
            return self._in_window(first, access, size, addresses, lanes, everyone, line)
        parts: list[tuple[Window, Values, Values]] = []
        for number in np.unique(numbers).tolist():
            mine = everyone[numbers == number]
            parts += self._in_window(number, access, size, addresses[mine], lanes, mine, line)
        return parts

    def _in_window(
        self,
        number: int,
        access: Access,
        size: int,
        addresses: Values,
        lanes: Lanes,
        mine: Values,
        line: int | None,
    ) -> list[tuple[Window, Values, Values]]:
        if not 0 <= number < len(self.windows):
            words = findings.wild(access, len(mine)).replace("tensor argument", "array")
            self.report("out_of_bounds", words, access, lanes, mine[:1], line)
            return []
        window = self.windows[number]
        offsets = addresses - window.base
        good = (offsets >= 0) & (offsets <= window.size - size)
        if not bool(good.all()):
            self._outside(window, access, offsets, lanes, mine, good, line)
        uneven = (addresses & (size - 1)) != 0
        if bool(uneven.any()):
            at = int(np.flatnonzero(uneven)[0])
            words = findings.misaligned(access, window.name, size, int(addresses[at]) % size)
            self.report("misaligned", words, access, lanes, mine[uneven], line, window=window)
            good &= ~uneven
        if window.read_only and access != "load":
            if bool(good.any()):
                words = findings.read_only(window.name, int(good.sum()))
                element = int(offsets[good][0]) // window.item
                self.report(
                    "out_of_bounds", words, access, lanes, mine[good], line,
                    window=window, element=element, read_only=True,
                )  # fmt: skip
            return []
        mine, offsets = mine[good], offsets[good]
        if not len(mine):
            return []
        if window.space == "shared":
            offsets = offsets + lanes.blocks[mine] * window.size
        elif window.space == "local":
            offsets = offsets + lanes.threads[mine] * window.size
        if window.space == "global":
            if self.watch is not None:
                self.watch(access, size, addresses[good], lanes.threads[mine], line)
            self.loaded_bytes += size * len(mine) * (access != "store")
            self.stored_bytes += size * len(mine) * (access != "load")
        offsets = offsets + window.start
        if window.written is not None or window.storage is not None:
            self._written(window, access, size, offsets, lanes, mine, line)
        return [(window, mine, offsets)]

    def _outside(
        self,
        window: Window,
        access: Access,
        offsets: Values,
        lanes: Lanes,
        mine: Values,
        good: Values,
        line: int | None,
    ) -> None:
        bad = np.flatnonzero(~good)
        # Those of the first block that goes astray: one student's mistake is in all of them.
        block = lanes.blocks[mine[bad[0]]]
        of_block = bad[lanes.blocks[mine[bad]] == block]
        low, high = (
            int(end) // window.item for end in (offsets[of_block].min(), offsets[of_block].max())
        )
        numbers = len(of_block), low, high
        words = findings.outside(access, window.name, numbers, window.size // window.item)
        if window.space == "shared":
            words += f", shared memory of {window.size:,} bytes"
        self.report(
            "out_of_bounds", words, access, lanes, mine[of_block], line, window=window,
            element=low if low < 0 else high, hint=_NEGATIVE_HINT if low < 0 else "",
            times=len(bad),
        )  # fmt: skip

    def _written(
        self,
        window: Window,
        access: Access,
        size: int,
        offsets: Values,
        lanes: Lanes,
        mine: Values,
        line: int | None,
    ) -> None:
        """Check reads of memory that nothing has written, and remember writes."""
        storage, written = window.storage, window.written
        if storage is not None:
            storage.touched |= access != "load"
            if storage.written is None:
                return
            storage.refine(size)
            written = storage.written.numpy()
            unit = storage.granule
        else:
            unit = 1
        assert written is not None
        cells = (offsets // unit)[:, None] + np.arange(max(size // unit, 1))
        if access != "store":
            fresh = ~written[cells].all(1)
            if storage is not None and bool(fresh.any()):
                places = np.flatnonzero(fresh)
                held = holds_pattern(storage, torch.from_numpy(offsets[places]), size).numpy()
                fresh[places] = held
            if bool(fresh.any()):
                at = int(offsets[fresh][0] - window.start) % max(window.size, 1) // window.item
                words = findings.unwritten(window.name, int(fresh.sum()), at)
                if storage is None:
                    words = f"reads shared memory that its block has not written, at byte {at:,}"
                self.report(
                    "uninitialized", words, access, lanes, mine[fresh], line,
                    window=window, element=at,
                )  # fmt: skip
        if access != "load":
            written[cells.reshape(-1)] = True

    def report(
        self,
        kind: Kind,
        message: str,
        access: Access,
        lanes: Lanes,
        whose: Values,
        line: int | None,
        *,
        window: Window | None = None,
        element: int | None = None,
        hint: str = "",
        severity: Severity = "error",
        read_only: bool = False,
        times: int | None = None,
        other: tuple[int, int, int | None, Access] | None = None,
    ) -> None:
        """Add a finding of lanes; `other` is the other side: block, thread in it, line, access."""
        threads = int(np.prod(self.block))
        thread = int(lanes.threads[whose[0]])
        block = self.first_block + int(lanes.blocks[whose[0]])
        finding = Finding(
            kind=kind,
            severity=severity,
            message=message,
            hint=hint or _HINTS[kind],
            access=access,
            tensor=window.name if window is not None and window.space != "shared" else None,
            element=element,
            program=_triple(block, self.grid),
            thread=_triple(thread % threads, self.block),
            block_size=self.block,
            space="shared" if window is not None and window.space == "shared" else "global",
            read_only=read_only,
            count=times if times is not None else len(whose),
        )
        if other is not None:
            if other[0] != block:
                finding.other_program = _triple(other[0], self.grid)
            finding.other_thread = _triple(other[1], self.block)
            finding.other_line, finding.other_access = other[2:]
        self.found.add(finding, None if line is None else Location("", line, 0))

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
        size = kind.itemsize * count
        for window, mine, offsets in self.lanes_of("load", size, addresses, lanes, line):
            access: Access = "atomic" if strong else "load"
            self._race(window, access, size, offsets, lanes, mine, line)
            typed, index = _typed(window, kind, offsets, count)
            result[mine] = typed[index]
        return result

    def store(self, values: Values, addresses: Values, lanes: Lanes, line: int | None) -> None:
        """Write values of one type, a row for each lane."""
        size, count = values.itemsize * values.shape[1], values.shape[1]
        for window, mine, offsets in self.lanes_of("store", size, addresses, lanes, line):
            typed, index = _typed(window, values.dtype, offsets, count)
            self._race(
                window, "store", size, offsets, lanes, mine, line, typed[index], values[mine]
            )
            typed[index] = values[mine]

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
        size = operand.itemsize
        for window, mine, offsets in self.lanes_of("atomic", size, addresses, lanes, line):
            self._race(window, "atomic", size, offsets, lanes, mine, line)
            typed, rows = _typed(window, operand.dtype, offsets, 1)
            index = rows[:, 0]
            # Lanes of one address one after the other: the first of each, then the second of each …
            rest = np.arange(len(index))
            while len(rest):
                _, first = np.unique(index[rest], return_index=True)
                now = rest[first]
                old = typed[index[now]]
                result[mine[now]] = old
                typed[index[now]] = operate(old, operand[..., mine[now]])
                rest = np.delete(rest, first)
        return result

    def _race(
        self,
        window: Window,
        access: Access,
        size: int,
        offsets: Values,
        lanes: Lanes,
        mine: Values,
        line: int | None,
        before: Values | None = None,
        values: Values | None = None,
    ) -> None:
        traces = window.traces
        if traces is None or not self.checked:
            return
        differs, bits = np.ones(len(mine), dtype=bool), None
        if before is not None and values is not None:
            bits = _as_bits(values)
            differs = (_as_bits(before) != bits).any(1)
        who = races.Who(
            threads=lanes.threads[mine] + self.first_block * int(np.prod(self.block)),
            blocks=lanes.blocks[mine] + self.first_block,
            epochs=lanes.epochs[mine],
            warp_epochs=lanes.warp_epochs[mine],
            per_block=int(np.prod(self.block)),
            line=line or 0,
        )
        ordered = self.blocks_ordered
        for meeting in traces.access(access, offsets, size, who, differs, bits, ordered=ordered):
            self._meeting(window, access, offsets, lanes, mine, line, meeting)

    def _meeting(
        self,
        window: Window,
        access: Access,
        offsets: Values,
        lanes: Lanes,
        mine: Values,
        line: int | None,
        met: races.Meeting,
    ) -> None:
        threads = int(np.prod(self.block))
        at = int(offsets[met.lane] - window.start) % max(window.size, 1) // window.item
        block = self.first_block + int(lanes.blocks[mine[met.lane]])
        other_block, other_thread = divmod(met.other, threads)
        name = f"`{window.name}`" if window.space != "shared" else "shared memory"
        where = (
            f"element {at:,} of {name}" if window.space != "shared" else f"byte {at:,} of {name}"
        )
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
            "race", words, access, lanes, mine[met.lane : met.lane + 1], line,
            window=window, element=at, severity="warning" if met.same or flag else "error",
            other=(other_block, other_thread, met.line or None, met.access), times=met.count,
        )  # fmt: skip


def _traces(size: int, unit: int) -> races.Traces:
    return races.Traces(-(-size // unit), unit)


def _as_bits(values: Values) -> Values:
    return np.ascontiguousarray(values).view(f"u{values.itemsize}")


def _typed(
    window: Window, kind: np.dtype[Any], offsets: Values, count: int
) -> tuple[Values, Values]:
    """Return the bytes of a window as elements of a type, and those at byte offsets, in rows."""
    size = kind.itemsize
    shift = int(offsets[0]) % size
    whole = (len(window.data) - shift) // size * size
    first = (offsets - shift) // size
    return window.data[shift : shift + whole].view(kind), first[:, None] + np.arange(count)


def _triple(number: int, extents: tuple[int, int, int]) -> tuple[int, int, int]:
    x, y, _ = extents
    return number % x, number // x % y, number // (x * y)


def _index(place: tuple[int, int, int], extents: tuple[int, int, int]) -> str:
    return str(place[0]) if extents[1:] == (1, 1) else f"({','.join(map(str, place))})"
