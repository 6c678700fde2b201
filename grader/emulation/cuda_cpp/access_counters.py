"""Access counters: the cost of a kernel's loads and stores, by source line.

Accesses are counted as in the source and as a GPU's warps would request them: requests
(one per warp and execution), 32-byte sectors of global memory, wavefronts of shared
memory. The counts depend only on the kernel and its input.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from grader.emulation.cuda_cpp.symbols import Place
from grader.protocol.targets import WARP

SECTOR_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request of a warp.

    `lanes` has for each lane the byte that it accesses first, None if it takes no part: from the
    start of the first sector in global memory, of the block's memory in shared memory.
    """

    lanes: tuple[int | None, ...]
    transactions: int
    ideal: int

    @property
    def excess(self) -> tuple[int, int]:
        """The excess transactions and, to choose among equals, the lanes that take part."""
        return self.transactions - self.ideal, sum(lane is not None for lane in self.lanes)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineCounters:
    """The accesses of one kind in one line of a kernel, over the counted blocks.

    `space` is global or shared, `operation` load, store or atomic. Sectors are
    0 for shared memory, wavefronts 0 for global. `lanes` counts the
    participating threads, `bytes` the bytes they requested. `worst` is the request with the most
    excess transactions.
    """

    kernel: str
    file: str | None
    line: int | None
    space: str
    operation: str
    access_bytes: int
    requests: int
    lanes: int
    bytes: int
    sectors: int
    ideal_sectors: int
    wavefronts: int
    ideal_wavefronts: int
    worst: Request | None = None

    @property
    def sectors_per_request(self) -> float:
        """4 for a coalesced warp of 4-byte accesses, 32 at worst."""
        return self.sectors / self.requests

    @property
    def bank_conflicts(self) -> int:
        """Wavefronts beyond those that the same words would need without conflicts."""
        return self.wavefronts - self.ideal_wavefronts


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelCounters:
    """A kernel's totals over all its launches.

    `accesses`, `read_bytes` and `written_bytes` (distinct bytes of global memory, the
    minimum to move) are for all blocks; `lines` are for `counted_blocks` of the `blocks`.
    `grid` and `block` are those of the last launch, `dynamic_shared` the most bytes of shared
    memory that a launch asks for. If `truncated`, a thread's log overflowed: `lines` are too low.
    A block has passed at most `barriers` barriers and has `shared_bytes` of shared memory, at most
    of any launch.
    """

    kernel: str
    launches: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_shared: int
    accesses: int
    read_bytes: int
    written_bytes: int
    blocks: int
    counted_blocks: int
    truncated: bool
    lines: tuple[LineCounters, ...]
    barriers: int = 0
    shared_bytes: int = 0

    @property
    def of_library(self) -> bool:
        """True for a launch of CUB's or Thrust's, which here is not the one that a GPU makes."""
        return self.kernel.startswith(("cub::", "thrust::"))

    def total(self, field: str, *, space: str, operation: str) -> int:
        """Return the sum of a counter over lines, in the counted blocks."""
        return sum(
            int(getattr(line, field))
            for line in self.lines
            if line.space == space and line.operation == operation
        )

    @property
    def moved_bytes(self) -> float:
        """Sectors of global memory in bytes, scaled from the counted blocks to all."""
        if not self.counted_blocks:
            return 0.0
        sectors = sum(line.sectors for line in self.lines if line.space == "global")
        return sectors * SECTOR_BYTES * self.blocks / self.counted_blocks

    @property
    def traffic_ratio(self) -> float | None:
        """Bytes moved ÷ least bytes; None for a kernel that touches no global memory."""
        least = self.read_bytes + self.written_bytes
        return self.moved_bytes / least if least else None


def read_counters(
    records: Iterable[Mapping[str, Any]], *, places: Mapping[int, Place]
) -> tuple[KernelCounters, ...]:
    """Return the counters of a report, sorted by the name of the kernel."""
    records = list(records)
    by_line: dict[tuple[Any, ...], dict[str, int]] = {}
    worst: dict[tuple[Any, ...], Request] = {}
    for record in records:
        if record["record"] != "access":
            continue
        place = places.get(record["pc"])
        key = (
            record["kernel"],
            place.file if place else None,
            (place.line or None) if place else None,
            record["space"],
            record["operation"],
            record["access_bytes"],
        )
        sums = by_line.setdefault(key, dict.fromkeys(_SUMS, 0))
        for name in _SUMS:
            sums[name] += record.get(name, 0)
        request = _request(record)
        if request and (key not in worst or request.excess > worst[key].excess):
            worst[key] = request
    # Once for each kernel: there is a record of it for each call.
    of_kernel: dict[str, list[LineCounters]] = {}
    for key, sums in by_line.items():
        of_kernel.setdefault(key[0], []).append(
            LineCounters(
                kernel=key[0],
                file=key[1],
                line=key[2],
                space=key[3],
                operation=key[4],
                access_bytes=key[5],
                worst=worst.get(key),
                **sums,
            )
        )
    for lines in of_kernel.values():
        lines.sort(key=lambda c: (c.file or "", c.line or 0, c.space, c.operation, c.access_bytes))
    lines_of = {kernel: tuple(lines) for kernel, lines in of_kernel.items()}
    kernels = []
    for record in records:
        if record["record"] != "kernel":
            continue
        kernels.append(
            KernelCounters(
                kernel=record["kernel"],
                launches=record["launches"],
                grid=tuple(record["grid"]),
                block=tuple(record["block"]),
                dynamic_shared=record["dynamic_shared"],
                accesses=record["accesses"],
                read_bytes=record["read_bytes"],
                written_bytes=record["written_bytes"],
                blocks=record["blocks"],
                counted_blocks=record["counted_blocks"],
                truncated=record["truncated"],
                lines=lines_of.get(record["kernel"], ()),
                barriers=record.get("barriers", 0),
                shared_bytes=record.get("shared_bytes", 0),
            )
        )
    return tuple(sorted(kernels, key=lambda k: k.kernel))


def _request(record: Mapping[str, Any]) -> Request | None:
    """Return the worst request of an access record. Raises ValueError if it is forged."""
    if "worst_lanes" not in record:
        return None
    lanes = [None if one == "-" else int(one) for one in str(record["worst_lanes"]).split()]
    numbers = [record["worst_transactions"], record["worst_ideal"], *lanes]
    well = all(one is None or (type(one) is int and 0 <= one < 2**63) for one in numbers)
    if not well or len(lanes) != WARP or not numbers[0] or not numbers[1]:
        raise ValueError("not a request of a warp")
    return Request(lanes=tuple(lanes), transactions=numbers[0], ideal=min(numbers[0], numbers[1]))


_SUMS = (
    "requests",
    "lanes",
    "bytes",
    "sectors",
    "ideal_sectors",
    "wavefronts",
    "ideal_wavefronts",
)
