"""The report of one run: findings, counters and faults.

The runtime writes the text in the same process as student code, so it is untrusted: code
that awards points needs other proof.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from grader.emulation.cuda_cpp.access_counters import KernelCounters, read_counters
from grader.emulation.cuda_cpp.findings import (
    Finding,
    program_counters,
    read_findings,
    read_records,
)
from grader.emulation.cuda_cpp.symbols import Place

# Maps program counters to places: `symbolize` with the object and file names bound.
Locate = Callable[[set[int]], Mapping[int, Place]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What ended the program or a kernel: a fatal signal, a failed `assert`, a `__trap()`.

    Place and buffer are None if unknown.
    """

    signal: str
    message: str
    file: str | None
    line: int | None
    in_kernel: bool
    kernel: str | None
    buffer: str | None
    offset: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The report of one run of a checked (or fast) build.

    `accesses` is the number of checked memory accesses in kernels, `copied_bytes` the
    number of bytes that copies wrote: a run without either proves nothing. Host code got
    `host_read_bytes` of device-accessible memory, and put `host_wrote_bytes` there. `unsupported`
    has sentences about unsupported features found at run time. `over_limit` is true if
    the access limit ended the run, `complete` if the run wrote its summary, `order_decides` if
    threads that run in another order may lead to more findings.
    """

    findings: tuple[Finding, ...]
    kernels: tuple[KernelCounters, ...]
    faults: tuple[Fault, ...]
    accesses: int
    launches: int
    copied_bytes: int
    host_read_bytes: int
    host_wrote_bytes: int
    unsupported: tuple[str, ...]
    over_limit: bool
    complete: bool
    order_decides: bool = False

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that are errors."""
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings that are warnings."""
        return tuple(finding for finding in self.findings if finding.severity == "warning")


def read_report(text: str, *, locate: Locate, sources: Mapping[str, str]) -> Report:
    """Return the report of one run; see `report_of`."""
    return report_of(read_records(text), locate=locate, sources=sources)


def report_of(
    records: Sequence[Mapping[str, Any]],
    *,
    locate: Locate,
    sources: Mapping[str, str],
    wrong: bool = False,
) -> Report:
    """Return the report that these records are; each has a name in `record`.

    `sources` maps the student's file names to the rewritten texts that were compiled. With `wrong`,
    the results of the run are known to be wrong.
    """
    places = locate(program_counters(records))
    summaries = [record for record in records if record["record"] == "summary"]
    return Report(
        findings=read_findings(records, places=places, sources=sources, wrong=wrong),
        kernels=read_counters(records, places=places),
        faults=tuple(
            _FAULTS[record["record"]](record, places)
            for record in records
            if record["record"] in _FAULTS
        ),
        accesses=sum(record["accesses"] for record in summaries),
        launches=sum(record["launches"] for record in summaries),
        copied_bytes=sum(record["copied_bytes"] for record in summaries),
        host_read_bytes=sum(record["host_read_bytes"] for record in summaries),
        host_wrote_bytes=sum(record["host_wrote_bytes"] for record in summaries),
        unsupported=tuple(
            dict.fromkeys(
                _sentence(record, places) for record in records if record["record"] == "unsupported"
            )
        ),
        over_limit=any(record["record"] == "limit" for record in records),
        complete=bool(summaries),
        order_decides=any(record.get("order_decides") is True for record in summaries),
    )


def _sentence(record: Mapping[str, Any], places: Mapping[int, Place]) -> str:
    """Return an unsupported feature's sentence, with its line if that is known."""
    place = places.get(record.get("pc", -1))
    return f"{record['message']}" + (f" ({place.file}:{place.line})" if place else "")


def _fault(record: Mapping[str, object], places: Mapping[int, Place]) -> Fault:
    pc = record.get("pc")
    place = places.get(pc) if isinstance(pc, int) else None
    kernel, buffer, offset = record.get("kernel"), record.get("buffer"), record.get("offset")
    return Fault(
        signal=str(record["signal"]),
        message=str(record["message"]),
        file=place.file if place else None,
        line=(place.line or None) if place else None,
        in_kernel=bool(record["in_kernel"]),
        kernel=str(kernel) if kernel is not None else None,
        buffer=str(buffer) if buffer is not None else None,
        offset=offset if isinstance(offset, int) else None,
    )


def _assertion(record: Mapping[str, object], _: Mapping[int, Place]) -> Fault:
    line = record.get("line")
    return Fault(
        signal="assert",
        message=f"the assertion `{record['expression']}` failed",
        file=PurePath(str(record["file"])).name,
        line=line if isinstance(line, int) else None,
        in_kernel=True,
        kernel=str(record["kernel"]),
        buffer=None,
        offset=None,
    )


def _trap(record: Mapping[str, object], places: Mapping[int, Place]) -> Fault:
    known = {"signal": "__trap()", "message": "the kernel ended itself", "in_kernel": True}
    return _fault({**record, **known}, places)


_FAULTS = {"fault": _fault, "assertion": _assertion, "trap": _trap}
