"""How much memory a kernel moves: bytes, sectors, and how little would have done.

A sector is the 32 bytes that a GPU moves at least. For each access of a whole
block (which lanes share a warp is the compiler's choice, and unknown here):

    sectors        distinct sectors touched
    least_sectors  as many as its distinct elements fill when packed

Neighbouring addresses give a ratio of 1, float32 at a stride of 8 or more
gives 8. `traffic_ratio` divides the bytes that all programs load and store by
the bytes of the distinct elements they touch: 1 where everything is read once
and written once. Counts of accesses as written, not of a cache's misses; the
same on every run.
"""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from grader.worker import worker_log

SECTOR = 32
_LINES_TOLD = 100  # of one kernel, the busiest


@dataclass(slots=True)
class Line:
    """The accesses of one sort in one line of the hand-in."""

    line: int | None
    access: str
    requests: int = 0
    elements: int = 0
    bytes: int = 0
    sectors: int = 0
    least_sectors: int = 0


@dataclass(slots=True)
class Kernel:
    """All launches of one kernel in a call."""

    kernel: str
    launches: int = 0
    programs: int = 0
    operations: int = 0
    touched_loaded_bytes: int = 0
    touched_stored_bytes: int = 0
    lines: dict[tuple[int | None, str], Line] = field(default_factory=dict)

    def count(
        self, line: int | None, access: str, lanes: int, size: int, sectors: int, least: int
    ) -> None:
        """Count one access of a block."""
        entry = self.lines.get((line, access))
        if entry is None:
            entry = self.lines[(line, access)] = Line(line, access)
        entry.requests += 1
        entry.elements += lanes
        entry.bytes += lanes * size
        entry.sectors += sectors
        entry.least_sectors += least

    def record(self) -> dict[str, Any]:
        """Return what is told of this kernel."""
        moved = {
            access: sum(line.bytes for line in self.lines.values() if line.access == access)
            for access in ("load", "store", "atomic")
        }
        touched = self.touched_loaded_bytes + self.touched_stored_bytes
        sectors = sum(line.sectors for line in self.lines.values())
        least = sum(line.least_sectors for line in self.lines.values())
        busiest = sorted(self.lines.values(), key=lambda line: (-line.bytes, line.line or 0))
        return {
            "kernel": self.kernel,
            "launches": self.launches,
            "programs": self.programs,
            "operations": self.operations,
            "loaded_bytes": moved["load"],
            "stored_bytes": moved["store"],
            "atomic_bytes": moved["atomic"],
            "touched_loaded_bytes": self.touched_loaded_bytes,
            "touched_stored_bytes": self.touched_stored_bytes,
            "traffic_ratio": (moved["load"] + moved["store"]) / touched if touched else None,
            "sectors": sectors,
            "least_sectors": least,
            "sector_ratio": sectors / least if least else None,
            "lines": [asdict(line) for line in busiest[:_LINES_TOLD]],
        }


class Counters:
    """The kernels of one call."""

    def __init__(self) -> None:
        self._kernels: dict[str, Kernel] = {}

    def begin(self) -> None:
        """Start a call."""
        self._kernels.clear()

    def kernel(self, name: str) -> Kernel:
        """Return the counts of a kernel."""
        if name not in self._kernels:
            self._kernels[name] = Kernel(name)
        return self._kernels[name]

    def end(self) -> None:
        """Tell the counts, a kernel a record."""
        for kernel in self._kernels.values():
            worker_log.tell("counters", **kernel.record())


def sectors_of(
    addresses: np.ndarray[Any, np.dtype[Any]], size: int, *, increasing: bool
) -> tuple[int, int]:
    """Return (distinct sectors, the least possible) of aligned accesses of `size` bytes.

    `addresses` may be relative to any multiple of a sector.
    """
    distinct = addresses if increasing else np.unique(addresses)
    sectors = distinct >> 5
    changes = int(np.count_nonzero(sectors[1:] != sectors[:-1]))
    return changes + 1, -(-len(distinct) * size // SECTOR)
