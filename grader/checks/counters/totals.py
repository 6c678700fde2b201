"""What a worker told of a call's accesses → lines and sums in one form.

The records are the words of the process that ran the hand-in. What breaks a
rule that the runtime's own records keep can only be the hand-in's: ValueError.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from grader.checks.common.source_lines import locator
from grader.emulation.cuda_cpp.access_counters import SECTOR_BYTES, LineCounters
from grader.emulation.cuda_cpp.report import read_report
from grader.report.evidence import CounterLine

_WARP = 32
_LARGEST = 2**63  # beyond is no number of the runtime's
_MOST_CHARACTERS = 200
_TRUNCATED = "the kernel makes more accesses between two barriers than can be counted here"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The accesses of one call by line, in the order of lines.

    `whole` is false if the report breaks off, as where the hand-in took its
    descriptor away; `problem` says why the figures are too low, which is not its fault.
    """

    launches: int
    lines: tuple[CounterLine, ...]
    whole: bool = True
    problem: str | None = None

    def total(
        self,
        field: Literal["transactions", "least"],
        space: str,
        accesses: Iterable[str] = ("load", "store", "atomic"),
    ) -> int:
        """Return a sum over the lines with these accesses in this space."""
        return sum(
            int(getattr(line, field))
            for line in self.lines
            if line.space == space and line.access in accesses
        )

    def moved_bytes(self, *accesses: str) -> int:
        """Return the bytes of all sectors of global memory that these accesses take."""
        return self.total("transactions", "global", accesses) * SECTOR_BYTES


def read_host(
    called: Sequence[Mapping[str, Any]],
    told: Sequence[Mapping[str, Any]],
    library: Path,
    file: str,
    text: str,
) -> Counted:
    """Read what the checked host build told of one call, all of its blocks counted.

    `called` was told until the call's end, `told` until the worker's, which
    says a last word in good order if its report is still its own. `text` is
    the student's file as rewritten. Raises ValueError if a record is not one
    of the runtime's.
    """
    summaries = _summaries(called), _summaries(told) - _summaries(called)
    if max(summaries) > 1:
        raise ValueError("a summary that nobody asked for")
    _hold_the_runtimes_rules(told)
    try:
        report = read_report(
            "\n".join(json.dumps(record) for record in told),
            locate=locator(library, file),
            sources={Path(file).name: text},
        )
        lines = tuple(_host_line(c, file) for kernel in report.kernels for c in kernel.lines)
    except (KeyError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"not a record of the host runtime: {error}") from error
    problem = report.unsupported[0] if report.unsupported else None
    for kernel in report.kernels:
        if problem is None and (kernel.truncated or kernel.blocks != kernel.counted_blocks):
            problem = _TRUNCATED
    return Counted(
        launches=sum(kernel.launches for kernel in report.kernels),
        lines=lines,
        whole=summaries == (1, 1),
        problem=problem,
    )


def _summaries(told: Sequence[Mapping[str, Any]]) -> int:
    return sum(record.get("record") == "summary" for record in told)


def _hold_the_runtimes_rules(told: Sequence[Mapping[str, Any]]) -> None:
    """Raise ValueError if the runtime cannot have written these records.

    It tells each kernel and each kind of access once, in numbers that fit together.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    for record in told:
        words: tuple[str, ...] = ()
        match record.get("record"):
            case "summary":
                _numbers(record, "accesses", "launches")
            case "kernel":
                _numbers(record, "launches", "blocks", "counted_blocks")
                words = ("record", "kernel")
            case "access":
                _hold_an_accesss_rules(record)
                if record["operation"] != "atomic":  # of which there are several kinds
                    words = ("record", "kernel", "pc", "space", "operation", "access_bytes")
        seen[tuple(str(record.get(word)) for word in words)] += 1
    if any(count > 1 for what, count in seen.items() if what):
        raise ValueError("told more often than the runtime tells it")


def _hold_an_accesss_rules(record: Mapping[str, Any]) -> None:
    found = {"global": "sectors", "shared": "wavefronts"}.get(str(record.get("space")))
    if found is None or record.get("operation") not in ("load", "store", "atomic"):
        raise ValueError("an unknown kind of access")
    _numbers(record, "access_bytes", "requests", "lanes", "bytes", found, f"ideal_{found}")
    whole = record["requests"] <= record["lanes"] <= record["requests"] * _WARP
    if not whole or record["bytes"] != record["lanes"] * record["access_bytes"]:
        raise ValueError("numbers of an access that do not fit together")


def _numbers(record: Mapping[str, Any], *names: str) -> None:
    for name in names:
        value = record.get(name)
        if type(value) is not int or not 0 <= value < _LARGEST:
            raise ValueError(f"{name} is {value!r}")
    if record.get("requests") == 0:
        raise ValueError("an access that nobody asked for")


def _host_line(found: LineCounters, file: str) -> CounterLine:
    in_global = found.space == "global"
    return _line(
        file=file,
        line=found.line if found.file == Path(file).name else None,
        kernel=found.kernel,
        space="global" if in_global else "shared",
        access=found.operation,
        access_bytes=found.access_bytes,
        requests=found.requests,
        transactions=found.sectors if in_global else found.wavefronts,
        least=found.ideal_sectors if in_global else found.ideal_wavefronts,
    )


def read_interpreter(told: Sequence[Mapping[str, Any]], file: str) -> Counted:
    """Read what the checked interpreter told of one call.

    Raises ValueError if a record is not one of the interpreter's.
    """
    launches = 0
    lines: list[CounterLine] = []
    seen: set[str] = set()
    for record in told:
        if record.get("record") != "counters":
            continue
        name = record.get("kernel")
        if type(name) is not str or name in seen or type(record.get("lines")) is not list:
            raise ValueError("not the counters of one kernel")
        seen.add(name)
        _numbers(record, "launches")
        launches += record["launches"]
        for entry in record["lines"]:
            if not isinstance(entry, dict):
                raise ValueError("not the counters of a line")
            lines.append(_interpreter_line(entry, name, file))
    return Counted(launches=launches, lines=tuple(lines))


def _interpreter_line(entry: Mapping[str, Any], kernel: str, file: str) -> CounterLine:
    _numbers(entry, "requests", "elements", "bytes", "sectors", "least_sectors")
    line, access = entry.get("line"), entry.get("access")
    if access not in ("load", "store", "atomic"):
        raise ValueError(f"an unknown kind of access: {access!r}")
    elements = entry["elements"]
    return _line(
        file=file,
        line=line if type(line) is int and 0 < line < _LARGEST else None,
        kernel=kernel,
        space="global",
        access=access,
        access_bytes=entry["bytes"] // elements if elements else None,
        requests=entry["requests"],
        transactions=entry["sectors"],
        least=entry["least_sectors"],
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
        raise ValueError("numbers of a line that do not fit together")
    least = min(least, transactions)  # accesses that overlap in part share sectors
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
