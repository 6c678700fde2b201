"""Accesses through regular addresses: whole slices of memory instead of lanes.

    Affine addresses, Box mask ─→ programs with the same part of their block ─→ a region of memory
                                                               inside, aligned, apart, no race ─→ a
                                                               slice is read or written

A tile is taken only if nothing is to be found about it; `plan` returns None otherwise, before
anything is remembered, and the access goes lane by lane through `memory`, which tells what is
wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import torch

from grader.emulation.common.findings import Access
from grader.emulation.common.location import Location
from grader.emulation.common.regions import Region, nested, runs
from grader.emulation.common.storage import View
from grader.emulation.triton_ir.affine import Affine, Box
from grader.emulation.triton_ir.memory import RACES_WITH, Memory
from grader.emulation.triton_ir.values import Value

T = torch.Tensor
_MOST_TILES = 8  # a block of three dimensions at the edges of its tensor
_MOST_RUNS = 32


@dataclass(slots=True, kw_only=True)
class Tile:
    """The same part of the blocks of some programs: `rows` of the batch, None for all."""

    view: View
    region: Region
    rows: T | None
    programs: T
    low: tuple[int, ...]
    extents: tuple[int, ...]

    def part(self, block: T) -> T:
        """Return this part of a block of all programs, which may be shared by them."""
        if self.rows is not None and len(block) > 1:
            block = block[self.rows]
        for axis, (low, extent) in enumerate(zip(self.low, self.extents, strict=True)):
            if block.shape[axis + 1] != 1:
                block = block.narrow(axis + 1, low, extent)
        return block

    def put(self, block: T, values: T) -> None:
        """Replace this part of a block of all programs."""
        places = tuple(slice(low, low + n) for low, n in zip(self.low, self.extents, strict=True))
        rows = slice(None) if self.rows is None else self.rows
        where = (rows, *places)
        block[where] = values


def plan(
    memory: Memory,
    programs: T,
    pointer: Value,
    mask: Value | None,
    *,
    access: Access,
    size: int,
    at: Location | None,
) -> list[Tile] | None:
    """Return the tiles of a load or a store and remember them; None if there is more to check."""
    form = pointer.form
    if not isinstance(form, Affine) or memory.order is not None or min(form.steps) < 0:
        return None
    box = None
    if mask is not None:
        if not isinstance(mask.form, Box):
            return None
        box = mask.form
    parts = _parts(form, box)
    if parts is None:
        return None
    batch = _Batch(memory=memory, programs=programs, form=form, access=access, size=size)
    tiles = []
    for part in parts:
        found = batch.tiles(part)
        if found is None:
            return None
        tiles += found
    if access == "store" and not _apart(tiles):
        return None
    if not all(_untroubled(memory, tile, access) for tile in tiles):
        return None
    for tile in tiles:
        _remember(memory, tile, access, at)
    return tiles


_Part = tuple[T | None, tuple[int, ...], tuple[int, ...]]


def _parts(form: Affine, box: Box | None) -> list[_Part] | None:
    """Return which programs have which part of their block; None if there are too many."""
    shape = form.shape
    if box is None:
        return [(None, (0,) * len(shape), shape)]
    bounds: list[int] = []  # the low and the high one of each axis
    varied: dict[int, npt.NDArray[np.int64]] = {}  # those that differ between programs
    for axis, extent in enumerate(shape):
        for bound, usual in ((box.low[axis], 0), (box.high[axis], extent)):
            if bound is not None and bound.numel() > 1:
                varied[len(bounds)] = bound.numpy()
            bounds.append(usual if bound is None else int(bound[0]))
    parts: list[_Part] = []
    left = np.ones(box.batch, dtype=np.bool_)
    for _ in range(_MOST_TILES):
        first = left.argmax()  # `torch.unique` takes many times as long
        alike = np.ones_like(left)
        for number, values in varied.items():
            bounds[number] = int(values[first])
            alike &= values == values[first]
        lows = tuple(bounds[::2])
        extents = tuple(high - low for low, high in zip(lows, bounds[1::2], strict=True))
        if min(extents) > 0:
            rows = None if alike.all() else torch.from_numpy(np.flatnonzero(alike))
            parts.append((rows, lows, extents))
        left &= ~alike
        if not left.any():
            return parts
    return None


@dataclass(slots=True, kw_only=True)
class _Batch:
    """An access of a batch whose addresses have a form."""

    memory: Memory
    programs: T
    form: Affine
    access: Access
    size: int

    def tiles(self, part: _Part) -> list[Tile] | None:
        """Return a part of blocks as tiles, one if the programs' starts are regular; or None."""
        rows, low, extents = part
        steps = zip(low, self.form.steps, strict=True)
        starts = self.form.start + sum(first * step for first, step in steps)
        if rows is None:
            starts = starts.expand(len(self.programs))
        else:
            starts = starts[rows] if len(starts) > 1 else starts.expand(len(rows))
        order = nested(starts)
        if order is not None:
            tile = self._tile(part, starts, order)
            return None if tile is None else [tile]
        # The programs of a batch begin or end within a row of the grid.
        ends = runs(starts)
        if len(ends) > _MOST_RUNS:
            return None
        if rows is None:
            rows = torch.arange(len(self.programs))
        tiles: list[Tile] = []
        for first, end in zip([0, *ends], ends, strict=False):
            order = nested(starts[first:end])
            if order is None:
                return None
            tile = self._tile((rows[first:end], low, extents), starts[first:end], order)
            if tile is None:
                return None
            tiles.append(tile)
        return tiles

    def _tile(
        self, part: _Part, starts: T, order: tuple[tuple[int, ...], tuple[int, ...]]
    ) -> Tile | None:
        """Return a tile; None unless it is inside of one view, and aligned."""
        first = int(starts[0])
        view = self.memory.view_of(first)
        if view is None or view.members is not None:
            return None
        if view.read_only and self.access == "store":
            return None
        rows, low, extents = part
        offset = first - view.address
        region = Region(
            start=offset + view.offset,
            shape=(*order[0], *extents),
            strides=(*order[1], *self.form.steps),
            size=self.size,
            outer=len(order[0]),
        )
        if offset < 0 or region.end > view.offset + view.size or first % self.size:
            return None
        axes = zip(region.shape, region.strides, strict=True)
        if any(stride % self.size for extent, stride in axes if extent > 1):
            return None
        return Tile(
            view=view,
            region=region,
            rows=rows,
            programs=self.programs if rows is None else self.programs[rows],
            low=low,
            extents=extents,
        )


def _apart(tiles: list[Tile]) -> bool:
    if not all(tile.region.apart for tile in tiles):
        return False
    return not any(
        one.view.storage is two.view.storage and one.region.may_meet(two.region)
        for one, two in combinations(tiles, 2)
    )


def _untroubled(memory: Memory, tile: Tile, access: Access) -> bool:
    """True if all is written that is read, and no other program touches it."""
    storage, region = tile.view.storage, tile.region
    if not storage.writable or not memory.checked:
        return True
    storage.refine(region.size)
    unit = storage.granule
    written = storage.written if access == "load" else None
    if written is not None and not region.of(written, unit).numpy().all():
        return False
    if memory.grid == (1, 1, 1):
        return True
    against = {*RACES_WITH[access], "store"}
    return all(
        trace.is_mine(region, tile.programs)
        for kind, trace in storage.traces.items()
        if kind in against
    )


def _remember(memory: Memory, tile: Tile, access: Access, at: Location | None) -> None:
    storage, region = tile.view.storage, tile.region
    lanes = len(tile.programs)
    for extent in tile.extents:
        lanes *= extent
    if access == "load":
        memory.loaded_bytes += lanes * region.size
    else:
        memory.stored_bytes += lanes * region.size
        storage.touched = True
    if not storage.writable or not memory.checked:
        return
    if memory.grid != (1, 1, 1):
        storage.trace(access).add(region, tile.programs, memory.place(at))
    if access == "store" and storage.written is not None:
        region.of(storage.written, storage.granule).fill_(True)
