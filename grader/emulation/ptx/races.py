"""Which accesses of a launch race: of two threads to one byte, at least one of them a write.

    same block       ordered by a barrier (`epochs`), in one warp by `syncwarp` too
    other blocks     ordered by nothing, unless they run one after the other
    atomics          do not race with each other

For each element and kind of access there are the least and the greatest thread that made it since
the last barrier of its block, and the least and the greatest block in the launch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from grader.emulation.common.findings import Access
from grader.emulation.ptx.operations import Values
from grader.protocol.targets import WARP

_NOBODY = np.iinfo(np.int32).max
_AGAINST: dict[Access, tuple[Access, ...]] = {
    "load": ("store", "atomic"),
    "store": ("store", "load", "atomic"),
    "atomic": ("store", "load"),
}


@dataclass(slots=True, kw_only=True)
class Who:
    """The lanes of one access; numbers are of the launch."""

    threads: Values
    blocks: Values
    epochs: Values
    warp_epochs: Values
    per_block: int
    line: int


@dataclass(slots=True, kw_only=True)
class Meeting:
    """Two accesses that nothing orders; `same` if both store the same value."""

    lane: int
    other: int  # thread of the launch
    access: Access  # of the other
    line: int
    same: bool
    count: int


class _Trace:
    """Who made one kind of access."""

    def __init__(self, size: int) -> None:
        self.least_block, self.least = (np.full(size, _NOBODY, dtype="i4") for _ in range(2))
        self.most_block, self.most, self.epoch, self.warp_epoch, self.block, self.line = (
            np.full(size, -1, dtype="i4") for _ in range(6)
        )

    def add(self, cells: Values, who: Who) -> None:
        """Remember lanes."""
        stale = (self.block[cells] != who.blocks) | (self.epoch[cells] != who.epochs)
        # A later syncwarp starts anew if only one warp is known.
        apart = (self.warp_epoch[cells] != who.warp_epochs) & self._one_warp(cells, who)
        old = cells[stale | apart]
        self.least[old], self.most[old] = _NOBODY, -1
        self.block[cells], self.epoch[cells] = who.blocks, who.epochs
        self.warp_epoch[cells], self.line[cells] = who.warp_epochs, who.line
        # Of several blocks at once in a cell, the one that is remembered there.
        kept = self.block[cells] == who.blocks
        np.minimum.at(self.least, cells[kept], who.threads[kept])
        np.maximum.at(self.most, cells[kept], who.threads[kept])
        np.minimum.at(self.least_block, cells, who.blocks)
        np.maximum.at(self.most_block, cells, who.blocks)

    def _one_warp(self, cells: Values, who: Who) -> Values:
        warps = (who.threads % who.per_block) // WARP
        low, high = (
            (threads[cells] % who.per_block) // WARP for threads in (self.least, self.most)
        )
        return (low == warps) & (high == warps) & (self.block[cells] == who.blocks)

    def meets(self, cells: Values, who: Who, *, ordered: bool) -> tuple[Values, Values]:
        """Return which lanes race with an access before, and the other thread.

        With `ordered`, blocks do not race.
        """
        least, most = self.least[cells], self.most[cells]
        foreign = np.where(least != who.threads, least, most)
        together = (self.block[cells] == who.blocks) & (self.epoch[cells] == who.epochs)
        warp = self._one_warp(cells, who) & (self.warp_epoch[cells] != who.warp_epochs)
        inside = together & ~warp & (most >= 0) & (foreign != who.threads)
        low, high = self.least_block[cells], self.most_block[cells]
        other = np.where(low != who.blocks, low, high)
        outside = (high >= 0) & (other != who.blocks)
        if ordered:
            outside &= False
        # Of another block only the block is known; its last access names the thread.
        named = np.where(self.block[cells] == other, self.least[cells], other * who.per_block)
        return inside | outside, np.where(inside, foreign, named)


@dataclass(slots=True)
class Traces:
    """The accesses to an array of so many elements of `unit` bytes in one launch."""

    elements: int
    unit: int
    kinds: dict[Access, _Trace] = field(default_factory=dict)

    def access(
        self,
        access: Access,
        offsets: Values,
        size: int,
        who: Who,
        differs: Values,
        bits: Values | None,
        *,
        ordered: bool,
    ) -> Iterator[Meeting]:
        """Remember an access, and yield what it races with.

        `differs` says of a store where memory held another value, `bits` is what it stores.
        """
        first, *others = (offsets // self.unit + k for k in range(-(-size // self.unit)))
        for other in _AGAINST[access]:
            if other not in self.kinds:
                continue
            trace = self.kinds[other]
            bad, whose = trace.meets(first, who, ordered=ordered)
            for cells in others:
                more, those = trace.meets(cells, who, ordered=ordered)
                bad, whose = bad | more, np.where(bad, whose, those)
            if bool(bad.any()):
                differ = bad & differs
                stores = access == other == "store"
                lane = int(np.flatnonzero(differ if bool(differ.any()) else bad)[0])
                yield Meeting(
                    lane=lane,
                    other=int(whose[lane]),
                    access=other,
                    line=int(trace.line[first[lane]]),
                    same=stores and not bool(differ.any()),
                    count=int(bad.sum()),
                )
        if access == "store" and bits is not None:
            yield from _collisions(offsets, who, bits)
        if access not in self.kinds:
            self.kinds[access] = _Trace(self.elements)
        for cells in (first, *others):
            self.kinds[access].add(cells, who)


def _collisions(offsets: Values, who: Who, bits: Values) -> Iterator[Meeting]:
    """Yield lanes of one store that meet in one place."""
    order = np.argsort(offsets, kind="stable")
    ours, theirs = order[1:], order[:-1]
    met = offsets[ours] == offsets[theirs]
    if not bool(met.any()):
        return
    differ = met & (bits[ours] != bits[theirs]).any(1)
    at = int(np.flatnonzero(differ if bool(differ.any()) else met)[0])
    yield Meeting(
        lane=int(ours[at]),
        other=int(who.threads[theirs[at]]),
        access="store",
        line=who.line,
        same=not bool(differ.any()),
        count=int(met.sum()),
    )
