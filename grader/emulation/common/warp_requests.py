"""The requests of warps: how many sectors of memory their lanes touch, and how few would do."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from grader.protocol.targets import WARP

SECTOR = 32
OFF = torch.iinfo(torch.int64).max  # the address of a lane that is off: above all others


@dataclass(slots=True)
class Line:
    """The accesses of one kind and width in one line of the kernel."""

    line: int | None
    access: str
    access_bytes: int
    requests: int = 0
    lanes: int = 0
    sectors: int = 0
    ideal_sectors: int = 0
    # The request with the most excess sectors: of each lane the byte that it accesses first, from
    # the start of the first sector on; None if the lane is off.
    worst_lanes: list[int | None] | None = None
    worst_sectors: int = 0
    worst_ideal_sectors: int = 0


def count_warps(entry: Line, lanes: torch.Tensor, size: int) -> None:
    """Count one instruction: a row for each warp, of its lanes' addresses, or OFF."""
    in_order = lanes
    if not bool((lanes[:, 1:] >= lanes[:, :-1]).all()):
        lanes = lanes.sort(1).values
    active = lanes != OFF
    # The first lane of each address, and of each sector: what lies below it is another's.
    fresh, sectors = active.clone(), active.clone()
    fresh[:, 1:] &= lanes[:, 1:] != lanes[:, :-1]
    pieces = lanes // SECTOR
    sectors[:, 1:] &= pieces[:, 1:] != pieces[:, :-1]
    distinct, fetched = fresh.sum(1), sectors.sum(1)
    ideal = (distinct * size + SECTOR - 1) // SECTOR
    entry.requests += int((distinct > 0).sum())
    entry.lanes += int(active.sum())
    entry.sectors += int(fetched.sum())
    entry.ideal_sectors += int(ideal.sum())
    # Excess sectors first, then lanes.
    worst = int(((fetched - ideal) * 2 * WARP + active.sum(1)).argmax())
    most = int(fetched[worst]), int(ideal[worst])
    known = entry.worst_sectors - entry.worst_ideal_sectors
    if int(distinct[worst]) and (entry.worst_lanes is None or most[0] - most[1] > known):
        entry.worst_sectors, entry.worst_ideal_sectors = most
        entry.worst_lanes = _relative(in_order[worst].tolist())


def _relative(lanes: list[int]) -> list[int | None]:
    """Return addresses from the start of the first sector on; None for lanes that are off."""
    first = min(lanes) // SECTOR * SECTOR
    return [None if lane == OFF else lane - first for lane in lanes]
