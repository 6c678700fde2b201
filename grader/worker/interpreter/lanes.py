"""The lanes of one access: inside their tensor, aligned, of known content?

A lane that must not go on is taken out, and the rest is checked on. The common
case, a run of neighbours inside one tensor, is kept to a dozen array operations:
this runs for every load and store of every program.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from grader.worker.interpreter import counters, findings, races, regions

if TYPE_CHECKING:
    from grader.worker.interpreter.access import Accesses, Launch

_Array = np.ndarray[Any, np.dtype[Any]]


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
            races.programs_meet(self, region, shadow.writers, "store", where)
            if shadow.updaters is not None:
                races.programs_meet(self, region, shadow.updaters, "atomic", where)
            shadow.readers.mark(where, clock, self.line)
        elif self.access == "store":
            if not increasing:
                races.lanes_meet(self, region, where, offsets)
            races.programs_meet(self, region, shadow.writers, "store", where, offsets)
            races.programs_meet(self, region, shadow.readers, "load", where)
            if shadow.updaters is not None:
                races.programs_meet(self, region, shadow.updaters, "atomic", where)
            shadow.writers.mark(where, clock, self.line)
        else:
            races.programs_meet(self, region, shadow.writers, "store", where)
            if self._writes:
                races.programs_meet(self, region, shadow.readers, "load", where)
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
