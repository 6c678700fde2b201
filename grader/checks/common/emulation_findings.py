"""Read the report of the checked host build into findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from grader.checks.common.findings import INPUT_HINT, MASK_HINT, hint
from grader.checks.common.source_lines import locator
from grader.emulation.cuda_cpp.findings import Finding as HostFinding
from grader.emulation.cuda_cpp.report import Report as HostReport
from grader.emulation.cuda_cpp.report import read_report
from grader.report.evidence import Finding

TOOL = "host device"
_SPACES: dict[str, Literal["global", "shared"]] = {"global": "global", "shared": "shared"}
_INPUT_WRITTEN = "a read-only input is written"
_NEGATIVE_HINT = "the index is negative: guard the lower end as well, as in `if (i >= 1)`"
# Hints by message, where the hint for the kind of finding would mislead.
_HINTS = {
    _INPUT_WRITTEN: INPUT_HINT,
    "a copy writes to a read-only input": INPUT_HINT,
    "host memory is accessed in a kernel": "a kernel can follow pointers to device memory only: "
    "copy what it needs with cudaMemcpy first",
    "the access is outside its shared variable": "an index leaves the shared array; one declared "
    "`extern __shared__` has as many bytes as the launch gives it: <<<blocks, threads, bytes>>>",
    "the access is past the end of a device variable": "an index leaves the array: compare it "
    "with the array's length",
    "a null pointer is dereferenced": "the pointer was never set, or its allocation failed: check "
    "what cudaMalloc returned and which pointers the launch passes",
    "freed memory is accessed": "cudaFree is called too early, or the pointer is from an earlier "
    "call",
    "an array index is outside the array": "an index leaves the array: compare it with the "
    "array's length",
    "the access begins before its buffer": _NEGATIVE_HINT,
    "a host variable is accessed in a kernel": "pass it to the kernel as an argument, or declare "
    "it `__device__` or `__constant__`",
    "a copy is given the host's address of a device variable": "`&x` of a `__device__` variable "
    "is no device address: use cudaMemcpyToSymbol, cudaMemcpyFromSymbol or cudaGetSymbolAddress",
    "a shuffle reads a lane that does not take part": MASK_HINT,
    "lanes named by the mask of a warp function wait elsewhere": MASK_HINT,
    "the calling lane is not in the mask of a warp function": MASK_HINT,
    "threads of one warp access one location without __syncwarp between": "a warp's threads need "
    "not run in step: put `__syncwarp()` between the write and the read, or use shuffles",
    "different blocks access one location, and nothing orders blocks": "blocks run in any order: "
    "use an atomic operation, or a second kernel launch",
    "host code accesses freed memory": "cudaFree is called too early, or the pointer is from an "
    "earlier call",
    "host code accesses device memory": "a device pointer can be dereferenced in a kernel only: "
    "copy with cudaMemcpy",
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
    race = found.kind == "race"
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
        access=_access(found.write),
        access_bytes=found.access_bytes,
        count=found.count,
        tool=TOOL,
        space=_SPACES.get(found.space or ""),
        elements=found.elements,
        block_size=found.block_size,
        other_thread=found.other_thread,
        other_access=_access(found.other_write) if race else None,
    )


def _access(write: bool | None) -> Literal["read", "write"] | None:
    if write is None:
        return None
    return "write" if write else "read"


def _hint(found: HostFinding) -> str:
    if found.kind == "out_of_bounds" and found.element is not None and found.element < 0:
        return _NEGATIVE_HINT
    return _HINTS.get(found.message) or hint(found.kind)
