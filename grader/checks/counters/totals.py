"""Read a worker's access records of one call into lines and sums.

The records come from the process that ran the submission and are not trusted: a record that the
runtime cannot have written was forged by the submission and raises ValueError.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from grader.assignment.counter_bounds import CountName, FigureName
from grader.build.artifact import Built
from grader.build.occupancy import resources_of
from grader.checks.common.emulation_findings import read_emulation, untrusted_records
from grader.emulation.cuda_cpp.access_counters import SECTOR_BYTES, LineCounters, Request
from grader.protocol.targets import THREADS_PER_BLOCK, WARP
from grader.report.evidence import CounterLine, LaunchResources, WarpAccess

_LARGEST = 2**63  # the runtime counts in 64 bits
_MOST_CHARACTERS = 200
_MOST_WARPS = 12
_MOST_LAUNCHES = 12
_LIBRARY = "the accesses of a library's kernels are not those that they make on a GPU"
_TRUNCATED = "the kernel makes more accesses between two barriers than the grader can count"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessCounts:
    """The accesses of one call by line, in the order of lines.

    `asked_bytes` is what the threads ask of global memory, `resources` what the launches use.
    `complete` is false if records are missing, for example because the submission closed the
    report's descriptor. `problem` says why the figures are too low without the submission's fault.
    `counts` are those that are known.
    """

    launches: int
    lines: tuple[CounterLine, ...]
    warps: tuple[WarpAccess, ...] = ()
    asked_bytes: int = 0
    resources: tuple[LaunchResources, ...] = ()
    complete: bool = True
    problem: str | None = None
    counts: Mapping[CountName, int] = field(default_factory=dict)

    def sums(self, figure: FigureName) -> tuple[int, int]:
        """Return what the accesses of a figure cost, and the least possible; traffic in sectors."""
        counted = [line for line in self.lines if belongs(line, figure)]
        return sum(line.transactions for line in counted), sum(line.least for line in counted)

    def moved_bytes(self, *accesses: str) -> int:
        """Return the bytes of all global-memory sectors that these accesses move."""
        return SECTOR_BYTES * sum(
            line.transactions
            for line in self.lines
            if line.space == "global" and line.access in accesses
        )


def belongs(line: CounterLine, figure: FigureName) -> bool:
    """True if a figure counts the accesses of this line."""
    space, accesses = _COUNTED[figure]
    return line.space == space and line.access in accesses


# The memory space of a figure, and the accesses to it that the figure counts.
_COUNTED: dict[FigureName, tuple[str, tuple[str, ...]]] = {
    "load_sectors": ("global", ("load",)),
    "store_sectors": ("global", ("store",)),
    "shared_wavefronts": ("shared", ("load", "store")),
    "traffic": ("global", ("load", "store", "atomic")),
}


def read_host(
    call_records: Sequence[Mapping[str, Any]],
    records: Sequence[Mapping[str, Any]],
    built: Built,
    text: str,
) -> AccessCounts:
    """Read the records that the checked host build wrote about one call, all blocks counted.

    `call_records` were written until the end of the call, which ended well, `records` until the
    end of the worker: the runtime writes one summary in each part. `text` is the rewritten source
    file. Raises ValueError if the runtime cannot have written a record.
    """
    summaries = _summaries(call_records), _summaries(records) - _summaries(call_records)
    if max(summaries) > 1:
        raise ValueError("more than one summary")
    _check_records(records)
    with untrusted_records():
        report = read_emulation(records, built, text)
        if report.unsupported:  # would have ended the call
            raise ValueError("a call that ended well met what the emulation cannot run")
        found = [counted for kernel in report.kernels for counted in kernel.lines]
        lines = tuple(_host_line(counted, built) for counted in found)
        warps = [
            _warp(line, counted.worst)
            for line, counted in zip(lines, found, strict=True)
            if counted.worst is not None
        ]
        launches = [
            (kernel.kernel[:_MOST_CHARACTERS], _threads(kernel.block), kernel.dynamic_shared)
            for kernel in report.kernels[:_MOST_LAUNCHES]
        ]
    library = any(one.of_library for one in report.kernels)
    cut = any(one.truncated or one.blocks != one.counted_blocks for one in report.kernels)
    return AccessCounts(
        launches=sum(kernel.launches for kernel in report.kernels),
        lines=lines,
        warps=_worst_warps(warps),
        asked_bytes=sum(counted.bytes for counted in found if counted.space == "global"),
        resources=() if built.assembled is None else resources_of(built.assembled, launches),
        complete=summaries == (1, 1),
        problem=_LIBRARY if library else _TRUNCATED if cut else None,
        counts={
            **_requests(lines),
            "launches": sum(kernel.launches for kernel in report.kernels),
            "barriers": max((kernel.barriers for kernel in report.kernels), default=0),
            "shared_bytes": max((kernel.shared_bytes for kernel in report.kernels), default=0),
        },
    )


def _threads(block: tuple[int, int, int]) -> int:
    """Return the threads of a block. Raises ValueError if there can be no such block."""
    threads = math.prod(block)
    if not 0 < threads <= THREADS_PER_BLOCK:
        raise ValueError(f"blocks of {block!r}")
    return threads


def _requests(lines: Sequence[CounterLine]) -> dict[CountName, int]:
    """Return how many requests warps make for atomic operations and loads."""
    count_of: Counter[tuple[str, str]] = Counter()
    for line in lines:
        count_of[line.space, line.access] += line.requests
    return {
        "atomics": count_of["global", "atomic"] + count_of["shared", "atomic"],
        "global_atomics": count_of["global", "atomic"],
        "global_loads": count_of["global", "load"],
    }


def _summaries(records: Sequence[Mapping[str, Any]]) -> int:
    return sum(record.get("record") == "summary" for record in records)


def _check_records(records: Sequence[Mapping[str, Any]]) -> None:
    """Raise ValueError if the runtime cannot have written these records.

    The runtime writes one record for each kernel and each kind of access, with consistent numbers.
    """
    count_of: Counter[tuple[str, ...]] = Counter()
    for record in records:
        keys: tuple[str, ...] = ()
        match record.get("record"):
            case "summary":
                _check_numbers(record, "accesses", "launches")
            case "kernel":
                _check_numbers(
                    record, "launches", "blocks", "counted_blocks", "dynamic_shared", "barriers",
                    "shared_bytes",
                )  # fmt: skip
                keys = ("record", "kernel")
            case "access":
                _check_access(record)
                if record["operation"] != "atomic":  # several kinds of atomics look alike
                    keys = ("record", "kernel", "pc", "space", "operation", "access_bytes")
        count_of[tuple(str(record.get(key)) for key in keys)] += 1
    if any(count > 1 for what, count in count_of.items() if what):
        raise ValueError("more than one record about the same accesses")


def _check_access(record: Mapping[str, Any]) -> None:
    unit = {"global": "sectors", "shared": "wavefronts"}.get(str(record.get("space")))
    if unit is None or record.get("operation") not in ("load", "store", "atomic"):
        raise ValueError("an unknown kind of access")
    _check_numbers(record, "access_bytes", "requests", "lanes", "bytes", unit, f"ideal_{unit}")
    lanes_possible = record["requests"] <= record["lanes"] <= record["requests"] * WARP
    if not lanes_possible or record["bytes"] != record["lanes"] * record["access_bytes"]:
        raise ValueError("inconsistent numbers of an access")


def _check_numbers(record: Mapping[str, Any], *names: str) -> None:
    for name in names:
        value = record.get(name)
        if type(value) is not int or not 0 <= value < _LARGEST:
            raise ValueError(f"{name} is {value!r}")
    if record.get("requests") == 0:
        raise ValueError("an access without a request")


def _host_line(found: LineCounters, built: Built) -> CounterLine:
    file = built.own_file(found.file or "")
    in_global = found.space == "global"
    return _line(
        file=file or built.file,
        line=found.line if file else None,
        kernel=found.kernel,
        space="global" if in_global else "shared",
        access=found.operation,
        access_bytes=found.access_bytes,
        requests=found.requests,
        transactions=found.sectors if in_global else found.wavefronts,
        least=found.ideal_sectors if in_global else found.ideal_wavefronts,
    )


def _warp(line: CounterLine, request: Request) -> WarpAccess:
    return WarpAccess(
        file=line.file,
        line=line.line,
        kernel=line.kernel,
        space=line.space,
        access=line.access,
        access_bytes=line.access_bytes or 1,
        lanes=request.lanes,
        transactions=request.transactions,
        least=request.ideal,
    )


def _worst_warps(warps: Iterable[WarpAccess]) -> tuple[WarpAccess, ...]:
    """Return of each kernel the worst load and store of global memory and the worst of shared."""
    worst: dict[tuple[str, ...], WarpAccess] = {}
    for warp in warps:
        if warp.access == "atomic":
            continue
        access = warp.access if warp.space == "global" else ""
        key = warp.kernel, warp.space, access
        before = worst.get(key)
        if before is None or _excess(warp) > _excess(before):
            worst[key] = warp
    ordered = sorted(worst.values(), key=_excess, reverse=True)
    return tuple(ordered[:_MOST_WARPS])


def _excess(warp: WarpAccess) -> tuple[int, int]:
    """Return the excess transactions and, to choose among equals, the lanes that take part."""
    return warp.transactions - warp.least, sum(lane is not None for lane in warp.lanes)


def read_triton(records: Sequence[Mapping[str, Any]], file: str) -> AccessCounts:
    """Read the records that the executor of launches wrote about one call.

    Raises ValueError if the executor cannot have written a record.
    """
    launches = asked_bytes = 0
    lines: list[CounterLine] = []
    warps: list[WarpAccess] = []
    kernels: set[str] = set()
    problem = None
    for record in records:
        if record.get("record") != "counters":
            continue
        name = record.get("kernel")
        if type(name) is not str or name in kernels or type(record.get("lines")) is not list:
            raise ValueError("not the counters of one kernel")
        kernels.add(name)
        _check_numbers(record, "launches", "lines_total")
        launches += record["launches"]
        if record["lines_total"] > len(record["lines"]):
            problem = f"the kernel {name[:_MOST_CHARACTERS]} has more lines than are reported"
        for entry in record["lines"]:
            if not isinstance(entry, dict):
                raise ValueError("not the counters of a line")
            line = _triton_line(entry, name, file)
            lines.append(line)
            asked_bytes += entry["lanes"] * entry["access_bytes"]
            if (request := _triton_request(entry)) is not None:
                warps.append(_warp(line, request))
    return AccessCounts(
        launches=launches,
        lines=tuple(lines),
        warps=_worst_warps(warps),
        asked_bytes=asked_bytes,
        problem=problem,
        counts={**_requests(lines), "launches": launches},
    )


def _triton_request(entry: Mapping[str, Any]) -> Request | None:
    lanes = entry.get("worst_lanes")
    if lanes is None:
        return None
    _check_numbers(entry, "worst_sectors", "worst_ideal_sectors")
    well = type(lanes) is list and len(lanes) == WARP
    if not well or not all(x is None or (type(x) is int and 0 <= x < _LARGEST) for x in lanes):
        raise ValueError("not the lanes of a request")
    return Request(
        lanes=tuple(lanes),
        transactions=max(1, entry["worst_sectors"]),
        ideal=max(1, min(entry["worst_ideal_sectors"], entry["worst_sectors"])),
    )


def _triton_line(entry: Mapping[str, Any], kernel: str, file: str) -> CounterLine:
    _check_numbers(entry, "requests", "lanes", "access_bytes", "sectors", "ideal_sectors")
    line, access = entry.get("line"), entry.get("access")
    if access not in ("load", "store", "atomic"):
        raise ValueError(f"an unknown kind of access: {access!r}")
    return _line(
        file=file,
        line=line if type(line) is int and 0 < line < _LARGEST else None,
        kernel=kernel,
        space="global",
        access=access,
        access_bytes=entry["access_bytes"],
        requests=entry["requests"],
        transactions=entry["sectors"],
        least=entry["ideal_sectors"],
    )


def _line(
    *,
    file: str,
    line: int | None,
    kernel: str,
    space: Literal["global", "shared"],
    access: Any,
    access_bytes: int | None,
    requests: int,
    transactions: int,
    least: int,
) -> CounterLine:
    if type(kernel) is not str or not requests or not least or not transactions:
        raise ValueError("inconsistent numbers of a line")
    least = min(least, transactions)  # partly overlapping accesses share sectors
    return CounterLine(
        file=file,
        line=line,
        kernel=kernel[:_MOST_CHARACTERS],
        space=space,
        access=access,
        access_bytes=access_bytes,
        requests=requests,
        transactions=transactions,
        least=least,
        per_request=round(transactions / requests, 3),
        ratio=round(transactions / least, 4),
    )
