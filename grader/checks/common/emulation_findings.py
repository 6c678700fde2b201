"""Read the report of the checked host build into findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.checks.common.findings import hint
from grader.checks.common.source_lines import locator
from grader.emulation.cuda_cpp.findings import Finding as HostFinding
from grader.emulation.cuda_cpp.report import Report as HostReport
from grader.emulation.cuda_cpp.report import read_report
from grader.report.evidence import Finding
from grader.text.hints import hints

TOOL = "host device"
_INPUT_WRITTEN = "a read-only input is written"
# By message, where the hint for the kind of finding would mislead.
_HINTS = {
    message: hints("finding").get(text, text) for message, text in hints("emulated_finding").items()
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRun:
    """The report of one checked run; `accesses` and `copied_bytes` show whether it did any work.

    Host code got `host_read_bytes` of device-accessible memory, and put `host_wrote_bytes` there.
    """

    findings: tuple[Finding, ...]
    accesses: int
    launches: int
    copied_bytes: int
    host_read_bytes: int
    host_wrote_bytes: int
    unsupported: tuple[str, ...]
    complete: bool


def read_run(lines: Sequence[str], library: Path, file: str, text: str) -> HostRun:
    """Read the lines of a worker's report; `text` is the rewritten source file.

    Raises ValueError if the runtime cannot have written a line, so the submission forged it.
    """
    try:
        report: HostReport = read_report(
            "\n".join(lines), locate=locator(library, file), sources={Path(file).name: text}
        )
        findings = tuple(_finding(found, file) for found in report.findings)
    except (KeyError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"not a record of the host runtime: {error}") from error
    return HostRun(
        findings=findings,
        accesses=report.accesses,
        launches=report.launches,
        copied_bytes=report.copied_bytes,
        host_read_bytes=report.host_read_bytes,
        host_wrote_bytes=report.host_wrote_bytes,
        unsupported=report.unsupported,
        complete=report.complete,
    )


def _finding(found: HostFinding, file: str) -> Finding:
    access = None if found.write is None else "write" if found.write else "read"
    return Finding(
        kind=found.kind,
        # No memory error on a GPU; the correctness check reports the changed input.
        severity="warning" if found.message == _INPUT_WRITTEN else found.severity,
        message=found.sentence(),
        hint=_hint(found),
        file=file,
        line=found.line,
        other_line=found.other_line,
        kernel=found.kernel,
        block=found.block,
        thread=found.thread,
        buffer=found.buffer,
        element=found.element,
        access=access,  # type: ignore[arg-type] # mypy widens the conditional
        access_bytes=found.access_bytes,
        count=found.count,
        tool=TOOL,
    )


def _hint(found: HostFinding) -> str:
    if found.kind == "out_of_bounds" and found.element is not None and found.element < 0:
        return _HINTS["the access begins before its buffer"]
    return _HINTS.get(found.message) or hint(found.kind)
