"""One access of a block, lane by lane: where it goes, and what it may do there.

    addresses, mask ──→ the lanes that are on
        │  inside their tensor, aligned, not a store to an input?   else: finding, lane off
        │  met by another lane or program?                          finding
        │  memory that nothing has written?                         finding
        ▼
    shadow and counters updated ──→ the lanes that may go on

A lane that must not go on is switched off, so that a wild pointer crashes
nothing and the next fault is found too.
"""

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.worker.interpreter import counters, findings, regions

if TYPE_CHECKING:
    from grader.worker.interpreter import shadow

_Array = np.ndarray[Any, np.dtype[Any]]


class Launch:
    """What the accesses of one launch have in common."""

    def __init__(self, kernel: "counters.Kernel", clock: "shadow.Clock") -> None:
        self.kernel = kernel
        self.clock = clock
        self.grid: tuple[int, ...] = (1, 1, 1)
        self.program = (0, 0, 0)
        self.regions: list[regions.Region] = []


class Accesses:
    """Checks accesses of the launch that is running."""

    def __init__(self, file: str, ledger: "findings.Ledger", peek: Any) -> None:
        self._file = file
        self._ledger = ledger
        self._peek = peek  # (addresses, bytes) → the words there, unsigned
        self.launch: Launch | None = None

    def line(self) -> int | None:
        """Return the line of the hand-in that is running, the innermost."""
        frame = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename == self._file:
                return frame.f_lineno
            if frame.f_back is None:
                return None
            frame = frame.f_back
        return None

    def line_of(self, error: BaseException | None) -> int | None:
        """Return the innermost line of the hand-in that an error came from, or that is running."""
        if error is None:
            return self.line()
        line = None
        while error is not None:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_code.co_filename == self._file:
                    line = trace.tb_lineno
                trace = trace.tb_next
            error = error.__cause__
        return line

    def check(
        self,
        access: str,
        pointers: Any,
        active: _Array,
        values: Any = None,
        *,
        reads: bool = True,
        writes: bool = True,
    ) -> _Array | None:
        """Check one access; return the lanes that may go on, None if all of `active` may.

        `values` are what a store writes. An atomic that does not look at what
        was there has `reads` False, one that only looks `writes` False.
        """
        launch = self.launch
        if launch is None:
            return None  # not inside a launch that we know of
        addresses = pointers.data
        if active.shape != addresses.shape:
            active = np.broadcast_to(active, addresses.shape)
        whole = bool(active.all())
        lanes = (addresses.reshape(-1) if whole else addresses[active]).view(np.int64)
        if not lanes.size:
            return None
        if values is not None:
            values = np.broadcast_to(values, addresses.shape)
            values = values.reshape(-1) if whole else values[active]
        size = regions.element_bytes(pointers)
        region = regions.of(pointers)
        one = OneAccess(self, launch, access, size, values, reads, writes)
        good = one.in_region(region, lanes) if region is not None else one.anywhere(lanes)
        if good is None:
            return None
        remaining: _Array = active.copy()
        remaining[active] = good
        return remaining

    def report(self, kind: str, one: "OneAccess", name: str | None, **words: Any) -> None:
        """Add a finding; `words` holds `message`, a function, and what else `Ledger.add` takes."""
        message = words.pop("message")
        severity = words.setdefault("severity", "error")
        if not self._ledger.known(kind, severity, one.access, name, one.line):
            self._ledger.add(
                kind,
                message(),
                access=one.access,
                tensor=name,
                line=one.line,
                kernel=one.launch.kernel.kernel,
                program=one.launch.program,
                **words,
            )

    def remark(
        self, kind: str, access: str, name: str | None, message: Any, **more: object
    ) -> None:
        """Add a warning about the line that is running, of no address in particular."""
        if self.launch is None:
            return
        line = self.line()
        if not self._ledger.known(kind, "warning", access, name, line):
            self._ledger.add(
                kind,
                message(),
                access=access,
                tensor=name,
                line=line,
                offset=None,
                kernel=self.launch.kernel.kernel,
                program=self.launch.program,
                severity="warning",
                **more,
            )

    def peek(self, addresses: _Array, size: int) -> _Array:
        """Return the words at addresses that are known to be good."""
        found: _Array = self._peek(addresses, size)
        return found


class OneAccess:
    """The checks of one access, in order."""

    def __init__(
        self,
        owner: "Accesses",
        launch: "Launch",
        access: str,
        size: int,
        values: Any,
        reads: bool,
        writes: bool,
    ) -> None:
        self.owner = owner
        self.launch = launch
        self.access = access
        self.line = owner.line()
        self.size = size
        self.values = values
        self._reads = access == "load" or (access == "atomic" and reads)
        self._writes = access != "load" and writes

    def anywhere(self, lanes: _Array) -> _Array | None:
        """Check lanes whose tensor is not known: look each address up."""
        good = np.zeros(len(lanes), bool)
        values = self.values
        for region in self.launch.regions:
            here = (lanes >= region.low) & (lanes < region.high) & ~good
            if here.any():
                self.values = values[here] if values is not None else None
                fine = self.in_region(region, lanes[here])
                good[here] = True if fine is None else fine
        self.values = values
        lost = int(np.count_nonzero(~good))
        if not lost:
            return None
        self.owner.report(
            "out_of_bounds",
            self,
            None,
            offset=None,
            message=lambda: findings.wild(self.access, lost),
        )
        return good

    def in_region(self, region: regions.Region, lanes: _Array) -> _Array | None:
        """Check lanes that must lie in one tensor; return which are good, None if all."""
        size = self.size
        base = region.shadow.base
        offsets = lanes - base
        increasing = len(offsets) == 1 or bool((offsets[1:] > offsets[:-1]).all())
        first, last = (
            (int(offsets[0]), int(offsets[-1]))
            if increasing
            else (int(offsets.min()), int(offsets.max()))
        )
        run = increasing and last - first == (len(offsets) - 1) * size
        bits = first if run else int(np.bitwise_or.reduce(offsets))
        good = None
        if (
            first < region.low - base
            or last + size > region.high - base
            or bits & (size - 1)
            or region.members is not None
            or (region.read_only and self._writes)
        ):
            good = self._good(region, lanes - region.low)
            if good is not None:
                if not good.any():
                    return good
                offsets = offsets[good]
                if self.values is not None:
                    self.values = self.values[good]
                # Lanes were taken out: a run may have a hole now.
                run = False
        self._go_on(region, offsets, increasing, run)
        return good

    def _good(self, region: regions.Region, offsets: _Array) -> _Array | None:
        """Return which lanes may go on, None if all; `offsets` are relative to the tensor."""
        size, item = self.size, region.item
        good = (offsets >= 0) & (offsets <= region.high - region.low - size)
        if not good.all():
            bad = offsets[~good]
            low, high = int(bad.min()), int(bad.max())
            # Told is the element that is farthest outside.
            farthest = low if low < 0 else high
            numbers = len(bad), low // item, high // item
            self.report(
                "out_of_bounds",
                region,
                farthest // item,
                lambda: findings.outside(self.access, region.name, numbers, region.extent),
                **({"hint": findings.BEFORE_HINT} if low < 0 else {}),
            )
        uneven = good & (offsets + region.low & (size - 1) != 0)
        if uneven.any():
            at = int(offsets[uneven][0])
            self.report(
                "misaligned",
                region,
                at // item,
                lambda: findings.misaligned(
                    self.access, region.name, size, (at + region.low) % size
                ),
            )
            good &= ~uneven
        if region.members is not None:
            good = self._members(region, offsets, good)
        if region.read_only and self._writes and good.any():
            lanes = int(np.count_nonzero(good))
            self.report(
                "out_of_bounds",
                region,
                int(offsets[good][0]) // item,
                lambda: findings.read_only(region.name, lanes),
                read_only=True,
            )
            good[:] = False
        return None if good.all() else good

    def _members(self, region: regions.Region, offsets: _Array, good: _Array) -> _Array:
        assert region.members is not None
        gap = good.copy()
        gap[good] = ~region.members[offsets[good] // region.item]
        if not gap.any():
            return good
        lanes = int(np.count_nonzero(gap))
        # Reading over a gap is memory of the same storage: no harm, and no GPU tool sees it.
        self.report(
            "out_of_bounds",
            region,
            int(offsets[gap][0]) // region.item,
            lambda: findings.between(self.access, region.name, lanes),
            severity="error" if self._writes else "warning",
        )
        return good & ~gap if self._writes else good

    def _go_on(self, region: regions.Region, offsets: _Array, increasing: bool, run: bool) -> None:
        """Check good lanes against what others did, and remember them."""
        shadow, clock, size = region.shadow, self.launch.clock, self.size
        where = shadow.where(offsets, size, run)
        if self.access == "load":
            programs_meet(self, region, shadow.writers, "store", where)
            if shadow.updaters is not None:
                programs_meet(self, region, shadow.updaters, "atomic", where)
            shadow.readers.mark(where, clock, self.line)
        elif self.access == "store":
            if not increasing:
                lanes_meet(self, region, where, offsets)
            programs_meet(self, region, shadow.writers, "store", where, offsets)
            programs_meet(self, region, shadow.readers, "load", where)
            if shadow.updaters is not None:
                programs_meet(self, region, shadow.updaters, "atomic", where)
            shadow.writers.mark(where, clock, self.line)
        else:
            programs_meet(self, region, shadow.writers, "store", where)
            if self._writes:
                programs_meet(self, region, shadow.readers, "load", where)
                shadow.atomics().mark(where, clock, self.line)
        if self._reads:
            fresh = shadow.unwritten(offsets, size, self.owner.peek)
            if fresh is not None:
                lanes = int(np.count_nonzero(fresh))
                at = (int(offsets[fresh][0]) + shadow.base - region.low) // region.item
                self.report(
                    "uninitialized",
                    region,
                    at,
                    lambda: findings.unwritten(region.name, lanes, at),
                )
        if self._writes:
            shadow.written(offsets, size, run)
        if run:
            first, lanes = int(offsets[0]), len(offsets)
            sectors = (first + lanes * size - 1 >> 5) - (first >> 5) + 1
            least = -(-lanes * size // counters.SECTOR)
        else:
            sectors, least = counters.sectors_of(offsets, size, increasing=increasing)
        self.launch.kernel.count(self.line, self.access, len(offsets), size, sectors, least)

    def report(
        self, kind: str, region: regions.Region, offset: int, message: Any, **more: Any
    ) -> None:
        """Add a finding about a tensor; `message` is a function."""
        self.owner.report(
            kind, self, region.name, message=message, offset=offset, buffer=region.buffer, **more
        )


def lanes_meet(one: "OneAccess", region: "regions.Region", where: Any, offsets: _Array) -> None:
    """Report lanes of a store that meet in one element."""
    last = region.shadow.met(where)
    if last is None:
        return
    factor = len(where) // len(offsets)
    meet = np.flatnonzero(last != np.arange(len(last)))
    mine, others = one.values[meet // factor], one.values[last[meet] // factor]
    differ = _bits(mine) != _bits(others)
    same = not differ.any()
    lane = meet[0 if same else int(np.argmax(differ))] // factor
    at = (int(offsets[lane]) + region.shadow.base - region.low) // region.item
    count = max(1, len(meet) // factor)
    one.report(
        "race",
        region,
        at,
        lambda: findings.lanes_collide(region.name, count, at, same=same),
        severity="warning" if same else "error",
    )


def programs_meet(
    one: "OneAccess",
    region: "regions.Region",
    trace: "shadow.Trace",
    theirs: str,
    where: Any,
    offsets: _Array | None = None,
) -> None:
    """Report another program that touched these cells, with nothing that orders us.

    `theirs` is what `trace` remembers. `offsets` are given for a store against
    stores: the values decide how grave it is.
    """
    conflict = trace.conflict(where, one.launch.clock)
    if conflict is None:
        return
    foreign, stamps = conflict
    cells = np.flatnonzero(foreign)
    severity = "error"
    cell = int(cells[0])
    if offsets is not None:
        lanes = cells // (len(foreign) // len(offsets))
        before = one.owner.peek(offsets[lanes] + region.shadow.base, one.size)
        differ = _bits(one.values[lanes]) != before
        severity = "error" if differ.any() else "warning"
        cell = int(cells[int(np.argmax(differ))])
    start = where.start + cell if isinstance(where, slice) else int(where[cell])
    address = start * region.shadow.granule + region.shadow.base
    at = (address - region.low) // region.item
    grid = one.launch.grid
    other = one.launch.clock.owner(int(stamps[cell]))
    programs = (
        findings.program_words(one.launch.program, grid),
        findings.program_words(other, grid),
    )
    one.report(
        "race",
        region,
        at,
        lambda: findings.programs_collide((one.access, theirs), region.name, at, programs),
        severity=severity,
        other_program=list(other),
        other_line=trace.line(int(stamps[cell])),
    )


def _bits(values: _Array) -> _Array:
    """The values' bits, so that NaN equals itself and 0.0 is not -0.0."""
    found: _Array = np.ascontiguousarray(values).view(f"u{values.itemsize}")
    return found
