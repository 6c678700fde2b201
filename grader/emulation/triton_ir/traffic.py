"""How much memory a kernel moves: bytes, sectors, and how little would have done.

A sector is the 32 bytes that a GPU moves at least. For each access of a whole block (which lanes
share a warp is the compiler's choice, and unknown here):

    sectors        distinct sectors touched
    least_sectors  as many as its distinct elements fill when packed

Neighbouring addresses give a ratio of 1, float32 at a stride of 8 or more gives 8. Counts are of
accesses as written, not of a cache's misses, and the same in every run.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

SECTOR = 32
# Programs and offsets in one number: no storage has more bytes.
_SHIFT = 36


@dataclass(slots=True)
class Line:
    """The accesses of one kind in one line of the kernel."""

    line: int | None
    access: str
    requests: int = 0
    elements: int = 0
    bytes: int = 0
    sectors: int = 0
    least_sectors: int = 0


@dataclass(slots=True)
class Traffic:
    """The accesses of the launches of one kernel."""

    lines: dict[tuple[int | None, str], Line] = field(default_factory=dict)

    def count(
        self,
        line: int | None,
        access: str,
        programs: torch.Tensor,
        offsets: torch.Tensor,
        size: int,
        times: int = 1,
    ) -> None:
        """Count an access: of each lane its program, and its offset in the storage in bytes.

        It stands for `times` accesses that differ by whole sectors only.
        """
        entry = self.lines.setdefault((line, access), Line(line, access))
        lanes = _distinct((programs.to(torch.int64) << _SHIFT) + offsets)
        sectors = _distinct((lanes & ((1 << _SHIFT) - 1)) // SECTOR + (lanes >> _SHIFT << _SHIFT))
        _, each = torch.unique_consecutive(lanes >> _SHIFT, return_counts=True)
        entry.requests += len(each) * times
        entry.elements += len(offsets) * times
        entry.bytes += len(offsets) * size * times
        entry.sectors += len(sectors) * times
        entry.least_sectors += int(((each * size + SECTOR - 1) // SECTOR).sum()) * times


def _distinct(keys: torch.Tensor) -> torch.Tensor:
    """Return the distinct keys, ascending."""
    if len(keys) > 1 and not bool((keys[1:] >= keys[:-1]).all()):
        keys = keys.sort().values
    distinct: torch.Tensor = torch.unique_consecutive(keys)
    return distinct
