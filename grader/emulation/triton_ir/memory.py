"""Memory of a launch: the views that it has, and the checks of one access.

    address ─→ the view it belongs to ─→ inside, aligned, not a store to an input?  else a finding
                                          written before it is read?                else a finding
                                          touched by one program only?              else a finding

Every view that a kernel gets lies in a window of 2^44 bytes of its own, so that an address tells
its view however far an index goes astray. Addresses that come from elsewhere (a tensor of
pointers) are looked up by the storages' real addresses.

Races between programs need no order: for each cell of memory the least and the greatest program
that read, wrote and updated it in this launch are kept. Programs that meet at a lock are ordered
by it; see `Order`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch

from grader.emulation.common import findings
from grader.emulation.common.findings import Access, Finding, Findings
from grader.emulation.common.location import Location
from grader.emulation.common.storage import View, holds_pattern
from grader.emulation.triton_ir import messages
from grader.emulation.triton_ir.requests import Requests

_WINDOW = 44
_MIDDLE = 1 << (_WINDOW - 1)
_MOST_STORING = 2**20  # programs of a launch of which is known who stores
_FIRST = 1 << 17  # windows begin above every real address
# Of a store other stores too; `OneAccess.stored` compares their values.
RACES_WITH: dict[Access, tuple[Access, ...]] = {
    "load": ("store", "atomic"),
    "store": ("load", "atomic"),
    "atomic": ("store", "load"),
}


@dataclass(slots=True)
class Order:
    """Which work of other programs this one may rely on, by scalar atomics that order them.

    Only programs that run one after the other have one. A program's releases divide its work into
    epochs: who acquires one may rely on the epochs before it, not on what comes after.
    """

    epoch: int = 0  # releases of this program
    acquired: dict[int, int] = field(default_factory=dict)  # epochs to rely on, by program
    released: dict[int, dict[int, int]] = field(default_factory=dict)  # the same, by address
    # Programs by the address of their atomics that neither acquire nor release.
    relaxed: dict[int, set[int]] = field(default_factory=dict)

    def begin_program(self) -> None:
        """Start a program, which has met no other one yet."""
        self.epoch = 0
        self.acquired = {}

    def meet(self, address: int, program: int, *, acquire: bool, release: bool) -> None:
        """A program has done a scalar atomic on an address."""
        if not acquire and not release:
            self.relaxed.setdefault(address, set()).add(program)
        if acquire:
            _merge(self.acquired, self.released.get(address, {}))
        if release:
            self.epoch += 1
            known = self.released.setdefault(address, {})
            _merge(known, self.acquired)
            _merge(known, {program: self.epoch})

    def hint(self, program: int, earlier: int) -> str:
        """Return why an earlier program's access is not ordered, "" if that is not clear."""
        if earlier in self.acquired:
            return messages.RELEASED_HINT
        met = any({program, earlier} <= programs for programs in self.relaxed.values())
        return messages.RELAXED_HINT if met else ""


def _merge(epochs: dict[int, int], others: dict[int, int]) -> None:
    for program, epoch in others.items():
        epochs[program] = max(epoch, epochs.get(program, 0))


class Memory:
    """All storages and views of a launch."""

    def __init__(self, found: Findings, *, checked: bool = True) -> None:
        self.found = found
        # Without it only bounds and inputs are checked, not who touches what.
        self.checked = checked
        self.loaded_bytes = self.stored_bytes = 0
        self.requests: Requests | None = None  # if accesses are counted
        self.views: list[View] = []
        self.order: Order | None = None
        self.grid = (1, 1, 1)
        self.storing = torch.zeros(0, dtype=torch.bool)  # by program of the launch, if they are few
        self.places: dict[tuple[Location | None, int], int] = {}

    def begin_launch(self, grid: tuple[int, int, int]) -> None:
        """Start a launch: it has the views that are added from now on."""
        self.views = []
        self.grid = grid
        programs = math.prod(grid)
        self.storing = torch.zeros(programs if programs <= _MOST_STORING else 0, dtype=torch.bool)
        self.order = None
        self.places = {}

    @property
    def programs_without_a_store(self) -> int:
        """How many programs of the launch have stored nothing; 0 if nobody counted."""
        return int((~self.storing).sum())

    def stores(self, programs: torch.Tensor, mask: torch.Tensor | None) -> None:
        """Remember which programs of a batch store; the first axis of `mask` is theirs."""
        if not self.storing.numel():
            return
        if mask is not None:
            lanes = mask.numpy().reshape(mask.shape[0], -1)
            some = torch.from_numpy(lanes.any(1))  # torch takes far longer for a large one
            programs = programs[some.expand(len(programs))]
        self.storing[programs.long()] = True

    def add(self, view: View) -> int:
        """Give a view its window; return the address of its first element."""
        window = _FIRST + len(self.views)
        # The low bits are the storage's, for alignment.
        low = (view.storage.address + view.offset) & 255
        view.address = (window << _WINDOW) + _MIDDLE + low
        self.views.append(view)
        return view.address

    def place(self, at: Location | None) -> int:
        """Return a number that stands for a location, and the program's epoch, in traces."""
        epoch = 0 if self.order is None else self.order.epoch
        return self.places.setdefault((at, epoch), len(self.places))

    def location(self, place: int) -> Location | None:
        """Return the location that a number in a trace stands for."""
        return next(at for (at, _), number in self.places.items() if number == place)

    def epochs(self, places: torch.Tensor) -> torch.Tensor:
        """Return the epochs that numbers in a trace stand for."""
        return torch.tensor([epoch for _, epoch in self.places])[places.long()]

    def program(self, number: int) -> tuple[int, int, int]:
        """Return a program's place in the grid."""
        x, y, _ = self.grid
        return number % x, number // x % y, number // (x * y)

    def access(self, one: OneAccess) -> list[tuple[View, torch.Tensor, torch.Tensor]]:
        """Check one access.

        Returns (view, lanes, byte offsets in the storage) of the lanes that may go on.
        """
        addresses = one.addresses
        if not addresses.numel():
            return []
        windows = addresses >> _WINDOW
        first = int(windows[0])
        if (windows == first).numpy().all():
            view = self._view(first)
            if view is not None:
                return one.in_view(view, None)
        return self._several(one, windows)

    def view_of(self, address: int) -> View | None:
        """Return the view that an address was made from."""
        return self._view(address >> _WINDOW)

    def _view(self, window: int) -> View | None:
        index = window - _FIRST
        return self.views[index] if 0 <= index < len(self.views) else None

    def _several(
        self, one: OneAccess, windows: torch.Tensor
    ) -> list[tuple[View, torch.Tensor, torch.Tensor]]:
        parts: list[tuple[View, torch.Tensor, torch.Tensor]] = []
        lost: list[torch.Tensor] = []
        for window in torch.unique(windows).tolist():
            lanes = torch.nonzero(windows == window).reshape(-1)
            view = self._view(window)
            if view is not None:
                parts += one.in_view(view, lanes)
                continue
            addresses = one.addresses[lanes]
            for real in self.views:
                start = real.storage.address + real.offset
                here = (addresses >= start) & (addresses < start + real.size)
                if bool(here.any()):
                    one.addresses[lanes[here]] += real.address - start
                    parts += one.in_view(real, lanes[here])
                    lanes, addresses = lanes[~here], addresses[~here]
            if len(lanes):
                lost.append(lanes)
        if lost:
            mine, times = one.offender(torch.cat(lost).sort().values)
            words = findings.wild(one.access, len(mine), "tensor argument")
            one.report("out_of_bounds", words, None, None, int(mine[0]), times=times)
        return parts


@dataclass(slots=True, kw_only=True)
class OneAccess:
    """An access of a batch: its active lanes, each with its address and its program."""

    memory: Memory
    access: Access
    size: int
    addresses: torch.Tensor
    programs: torch.Tensor
    at: Location | None
    wrapped: Location | None = None
    outside_hint: str = ""  # of what is not accessed by pointers
    reads: bool = False
    writes: bool = False
    # By the lanes of a store to one view: (least program, greatest program, place) of the stores
    # before it to each lane's cell.
    earlier: dict[int, tuple[torch.Tensor, ...]] = field(default_factory=dict)

    def report(
        self,
        kind: findings.Kind,
        message: str,
        view: View | None,
        element: int | None,
        lane: int,
        *,
        severity: findings.Severity = "error",
        hint: str = "",
        read_only: bool = False,
        program_step: tuple[int, int] | None = None,
        times: int = 1,
    ) -> None:
        """Add a finding of a lane."""
        memory = self.memory
        finding = Finding(
            kind=kind,
            severity=severity,
            message=message,
            hint=hint,
            access=self.access,
            tensor=view.name if view else None,
            element=element,
            program=memory.program(int(self.programs[lane])),
            read_only=read_only,
            program_step=program_step,
            count=times,
        )
        memory.found.add(finding, self.at)

    def offender(self, lanes: torch.Tensor) -> tuple[torch.Tensor, int]:
        """Return those of some lanes that are the first program's, and of how many they are."""
        programs = self.programs[lanes]
        mine = programs == programs[0]
        return lanes[mine], 1 if bool(mine.all()) else len(torch.unique(programs))

    def in_view(
        self, view: View, lanes: torch.Tensor | None
    ) -> list[tuple[View, torch.Tensor, torch.Tensor]]:
        """Check lanes that belong to one view; None means all lanes."""
        addresses = self.addresses if lanes is None else self.addresses[lanes]
        if lanes is None:
            lanes = torch.arange(len(addresses))
        offsets = addresses - view.address
        low, high = (int(bound) for bound in torch.aminmax(offsets))
        good = None
        if low < 0 or high > view.size - self.size:
            good = self._outside(view, offsets, lanes)
        if self.size > 1 and (addresses & (self.size - 1)).numpy().any():
            uneven = (addresses & (self.size - 1)) != 0
            place = int(torch.nonzero(uneven)[0])
            at = int(offsets[place]) // view.item
            words = findings.misaligned(
                self.access, view.name, self.size, int(addresses[place]) % self.size
            )
            _, times = self.offender(lanes[uneven])
            self.report("misaligned", words, view, at, int(lanes[place]), times=times)
            good = ~uneven if good is None else good & ~uneven
        if view.members is not None:
            good = self._members(view, offsets, lanes, good)
        if view.read_only and self.writes:
            self._read_only(view, offsets, lanes, good)
            return []
        if good is not None:
            lanes, offsets = lanes[good], offsets[good]
            if not len(lanes):
                return []
        offsets = offsets + view.offset
        self._shadow(view, offsets, lanes)
        return [(view, lanes, offsets)]

    def _outside(self, view: View, offsets: torch.Tensor, lanes: torch.Tensor) -> torch.Tensor:
        good = (offsets >= 0) & (offsets <= view.size - self.size)
        lost = lanes[~good]
        mine, times = self.offender(lost)
        bad = offsets[~good][self.programs[lost] == self.programs[mine[0]]]
        low, high = int(bad.min()) // view.item, int(bad.max()) // view.item
        far = low if low < 0 else high  # the element that is farthest outside
        numbers = len(torch.unique(bad)), low, high
        hint = self.outside_hint or (messages.BEFORE_HINT if low < 0 else "")
        if not hint and not bool((good & (self.programs[lanes] == self.programs[mine[0]])).any()):
            hint = messages.BEGIN_HINT
        if self.size > view.item:
            hint = messages.wider_hint(view.name, self.size, view.item)
        if self.wrapped is not None:
            hint = messages.overflow_hint(self.wrapped.line)
        words = findings.outside(self.access, view.name, numbers, view.size // view.item)
        step = self._program_step(offsets // view.item, lanes)
        self.report(
            "out_of_bounds", words, view, far, int(mine[0]),
            hint=hint, program_step=step, times=times,
        )  # fmt: skip
        return good

    def _program_step(self, elements: torch.Tensor, lanes: torch.Tensor) -> tuple[int, int] | None:
        """Return the number of programs and the elements between them, None if these differ."""
        if self.memory.grid[1:] != (1, 1):
            return None
        programs, index = torch.unique(self.programs[lanes], return_inverse=True)
        begins = elements.new_full(programs.shape, 2**62).scatter_reduce(0, index, elements, "amin")
        steps = begins[1:] - begins[:-1]
        if not len(steps) or not bool((programs[1:] - programs[:-1] == 1).all()):
            return None
        even = bool((steps == steps[0]).all())
        return (self.memory.grid[0], int(steps[0])) if even else None

    def _members(
        self, view: View, offsets: torch.Tensor, lanes: torch.Tensor, good: torch.Tensor | None
    ) -> torch.Tensor | None:
        assert view.members is not None
        inside = torch.ones_like(offsets, dtype=torch.bool) if good is None else good
        gap = inside.clone()
        gap[inside] = ~view.members[offsets[inside] // view.item]
        if not bool(gap.any()):
            return good
        at = int(offsets[gap][0]) // view.item
        mine, times = self.offender(lanes[gap])
        words = messages.between(self.access, view.name, len(mine))
        # Reading a gap is memory of the same storage: no harm, and no GPU tool sees it.
        severity: findings.Severity = "error" if self.writes else "warning"
        self.report("out_of_bounds", words, view, at, int(mine[0]), severity=severity, times=times)
        return inside & ~gap if self.writes else good

    def _read_only(
        self, view: View, offsets: torch.Tensor, lanes: torch.Tensor, good: torch.Tensor | None
    ) -> None:
        if good is not None:
            offsets, lanes = offsets[good], lanes[good]
        if len(offsets):
            mine, times = self.offender(lanes)
            words = findings.read_only(view.name, len(mine))
            at, lane = int(offsets[0]) // view.item, int(mine[0])
            self.report("out_of_bounds", words, view, at, lane, read_only=True, times=times)

    def _shadow(self, view: View, offsets: torch.Tensor, lanes: torch.Tensor) -> None:
        """Check good lanes against what others did, and remember them."""
        storage = view.storage
        memory = self.memory
        if self.reads:
            memory.loaded_bytes += len(lanes) * self.size
        if self.writes:
            memory.stored_bytes += len(lanes) * self.size
            storage.touched = True
        if not storage.writable or not memory.checked:
            return
        cells = storage.cells(offsets, self.size)
        if self.reads and storage.written is not None:
            self._unwritten(view, offsets, cells, lanes)
        if self.memory.grid != (1, 1, 1):
            programs = self.programs[lanes]
            if cells.dim() == 2:
                programs = programs[:, None].expand(cells.shape).reshape(-1)
            self._races(view, cells.reshape(-1), programs, lanes)
        if self.writes and storage.written is not None:
            storage.written.numpy()[cells.numpy()] = True

    def _unwritten(
        self, view: View, offsets: torch.Tensor, cells: torch.Tensor, lanes: torch.Tensor
    ) -> None:
        storage = view.storage
        assert storage.written is not None
        fresh = ~storage.written.index_select(0, cells.reshape(-1)).view(cells.shape)
        if fresh.dim() == 2:
            fresh = fresh.any(1)
        if not fresh.numpy().any():
            return
        # torch's own operations (`zero_`, `copy_`) write without being watched.
        places = torch.nonzero(fresh).reshape(-1)
        untouched = holds_pattern(storage, offsets[places], self.size)
        fresh[places] = untouched
        storage.written[cells[places[~untouched]]] = True
        if not bool(fresh.any()):
            return
        at = (int(offsets[fresh][0]) - view.offset) // view.item
        mine, times = self.offender(lanes[fresh])
        words = findings.unwritten(view.name, len(mine), at)
        self.report("uninitialized", words, view, at, int(mine[0]), times=times)

    def _races(
        self, view: View, cells: torch.Tensor, programs: torch.Tensor, lanes: torch.Tensor
    ) -> None:
        storage = view.storage
        for kind in RACES_WITH[self.access]:
            if kind in storage.traces and (kind != "load" or self.writes):
                self._meet(view, kind, cells, programs)
        if self.access == "atomic" and not self.writes:
            return
        if self.access == "store" and "store" in storage.traces:
            first = cells[:: len(cells) // len(lanes)]
            traced = storage.traces["store"].cells()
            earlier = tuple(array.index_select(0, first) for array in traced)
            if (earlier[1] >= 0).numpy().any():
                self.earlier[id(lanes)] = earlier
        storage.trace(self.access).mark(cells, programs, self.memory.place(self.at))

    def _meet(self, view: View, kind: Access, cells: torch.Tensor, programs: torch.Tensor) -> None:
        """Compare with another kind of access, as if programs ran one after the other.

        What meets is then the later program's finding, whichever came first in the batch.
        """
        trace = view.storage.traces[kind]
        least, most, places = (array.index_select(0, cells) for array in trace.cells())
        before = self.unordered(least < programs, least)
        if before.numpy().any():
            self._collide(view, kind, cells, programs, least, int(torch.nonzero(before)[0]))
        elif self.memory.order is not None:
            before = self.unordered((most >= 0) & (most < programs), most, places)
            if bool(before.any()):
                self._collide(view, kind, cells, programs, most, int(torch.nonzero(before)[0]))
        after = most > programs
        if after.numpy().any():
            self._collide(view, kind, cells, programs, most, int(torch.nonzero(after)[0]))

    def unordered(
        self, foreign: torch.Tensor, others: torch.Tensor, places: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Leave out what a lock orders before this program; `places` are the others' last ones."""
        order = self.memory.order
        if order is None or not order.acquired or not bool(foreign.any()):
            return foreign
        programs = torch.tensor(sorted(order.acquired))
        ordered = torch.isin(others, programs)
        if places is not None:
            epochs = torch.tensor([order.acquired[one] for one in programs.tolist()])
            mine = torch.searchsorted(programs, others.long()).clamp(max=len(programs) - 1)
            ordered &= self.memory.epochs(places) < epochs[mine]
        return foreign & ~ordered

    def _collide(
        self,
        view: View,
        kind: Access,
        cells: torch.Tensor,
        programs: torch.Tensor,
        others: torch.Tensor,
        where: int,
        *,
        severity: findings.Severity = "error",
        place: int | None = None,
    ) -> None:
        """Report that a program meets another one in a cell, at the access of the later one."""
        storage, memory = view.storage, self.memory
        cell = cells[where]
        element = (int(cell) * storage.granule - view.offset) // view.item
        if place is None:
            place = int(storage.traces[kind].cells()[2][cell])
        accesses = [
            (int(programs[where]), self.access, self.at),
            (int(others[where]), kind, memory.location(place)),
        ]
        accesses.sort(key=lambda one: -one[0])
        (late, verb, at), (early, other_verb, other_at) = accesses
        triples = memory.program(late), memory.program(early)
        words = (memory.found.words(triples[0]), memory.found.words(triples[1]))
        finding = Finding(
            kind="race",
            severity=severity,
            message=messages.programs_collide((verb, other_verb), view.name, element, words),
            hint="" if memory.order is None else memory.order.hint(late, early),
            access=verb,
            tensor=view.name,
            element=element,
            program=triples[0],
            other_program=triples[1],
            other_line=other_at.line if other_at else None,
        )
        memory.found.add(finding, at)

    def stored(
        self,
        view: View,
        lanes: torch.Tensor,
        offsets: torch.Tensor,
        differs_before: torch.Tensor,
        differs_after: torch.Tensor,
    ) -> None:
        """Judge lanes of a store that meet other lanes, or other programs' stores.

        `differs_before` and `differs_after` say where memory held, and holds, another value than
        the lane has stored.
        """
        if not self.memory.checked:
            return
        storage = view.storage
        cells = storage.cells(offsets, self.size)
        first = cells if cells.dim() == 1 else cells[:, 0]
        programs = self.programs[lanes]
        if self.memory.grid != (1, 1, 1):
            earlier = self.earlier.get(id(lanes))
            if earlier is not None:
                self._stored_before(view, first, programs, earlier, differs_before)
        # Which of the lanes that meet in a cell has it; the others are here.
        winner = torch.empty(int(first.max()) + 1, dtype=torch.int64)
        numbers = torch.arange(len(first))
        winner[first] = numbers
        with_lane = winner[first]
        lost = torch.nonzero(with_lane != numbers).reshape(-1)
        if not len(lost):
            return
        differ = differs_after[lost] | differs_after[with_lane[lost]]
        same = programs[lost] == programs[with_lane[lost]]
        if bool(same.any()):
            self._lanes_collide(view, lanes[lost[same]], offsets[lost[same]], differ[same])
        if not bool(same.all()):
            bad = bool(differ[~same].any())
            which = int(torch.nonzero(differ & ~same if bad else ~same)[0])
            others = programs[with_lane]
            self._collide(
                view, "store", first, programs, others, int(lost[which]),
                severity="error" if bad else "warning", place=self.memory.place(self.at),
            )  # fmt: skip

    def _stored_before(
        self,
        view: View,
        cells: torch.Tensor,
        programs: torch.Tensor,
        earlier: tuple[torch.Tensor, ...],
        differs: torch.Tensor,
    ) -> None:
        """Judge lanes of a store against earlier stores of this launch to their cells."""
        least, most, places = earlier
        low = self.unordered(least < programs, least)
        high = (most >= 0) & (most != programs)
        if self.memory.order is not None:
            high = self.unordered(high, most, places)
        met = low | high
        if not bool(met.any()):
            return
        bad = bool((met & differs).any())
        where = int(torch.nonzero(met & differs if bad else met)[0])
        others = torch.where(low, least, most)
        self._collide(
            view, "store", cells, programs, others, where,
            severity="error" if bad else "warning", place=int(places[where]),
        )  # fmt: skip

    def _lanes_collide(
        self, view: View, lanes: torch.Tensor, offsets: torch.Tensor, differ: torch.Tensor
    ) -> None:
        """Report lanes of one program that meet in a cell."""
        bad = bool(differ.any())
        if bad:
            lanes, offsets = lanes[differ], offsets[differ]
        mine, times = self.offender(lanes)
        at = (int(offsets[0]) - view.offset) // view.item
        words = messages.lanes_collide(view.name, len(mine), at, same=not bad)
        severity: findings.Severity = "error" if bad else "warning"
        self.report(
            "race", words, view, at, int(mine[0]),
            hint=messages.LANES_HINT, severity=severity, times=times,
        )  # fmt: skip
