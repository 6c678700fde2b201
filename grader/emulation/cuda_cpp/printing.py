"""Prints a report: findings as sentences or as SARIF, counters as tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from grader.emulation.cuda_cpp.access_counters import KernelCounters, LineCounters
from grader.emulation.cuda_cpp.report import Report
from grader.text.sarif import SarifResult, sarif_log


def _place(file: str | None, line: int | None, paths: Mapping[str, str] | None) -> str:
    return f"{(paths or {}).get(file or '', file)}:{line}: " if line else ""


def print_faults(
    report: Report, *, to: TextIO | None = None, paths: Mapping[str, str] | None = None
) -> None:
    """Print the faults that ended the program, one per line."""
    for fault in report.faults:
        place = _place(fault.file, fault.line, paths)
        where = f" in kernel {fault.kernel}" if fault.kernel else ""
        buffer = f" (`{fault.buffer}`, byte {fault.offset})" if fault.buffer else ""
        print(f"{place}{fault.signal}{where}: {fault.message}{buffer}", file=to)


def print_report(
    report: Report,
    *,
    counters: bool,
    to: TextIO | None = None,
    paths: Mapping[str, str] | None = None,
) -> None:
    """Print faults and findings, then (if `counters`) a table per kernel.

    `paths` has the reader's path of each file, by its name.
    """
    print_faults(report, to=to, paths=paths)
    for finding in report.findings:
        place = _place(finding.file, finding.line, paths)
        times = f" [{finding.count} times]" if finding.count > 1 else ""
        kind = finding.kind.replace("_", " ")
        print(f"{place}{finding.severity}: {kind}: {finding.sentence()}{times}", file=to)
        if finding.parted_by:
            print(f"{place}note: {finding.parted_by} parts these accesses", file=to)
    for sentence in report.unsupported:
        print(f"not supported here: {sentence}", file=to)
    if report.over_limit:
        print("stopped: the access limit was reached", file=to)
    errors, warnings = len(report.errors), len(report.warnings)
    print(
        f"{errors} error{'s' * (errors != 1)}, {warnings} warning{'s' * (warnings != 1)}; "
        f"{report.accesses} accesses checked in {report.launches} "
        f"launch{'es' * (report.launches != 1)}",
        file=to,
    )
    if counters:
        for kernel in report.kernels:
            _print_kernel(kernel, to)


def write_sarif(report: Report, path: Path, *, paths: Mapping[str, str]) -> None:
    """Write faults and findings for an editor, with the reader's path of each file.

    Raises OSError if the file cannot be written.
    """
    faults = [
        SarifResult(
            rule="crash",
            level="error",
            message=f"{fault.signal}: {fault.message}",
            path=paths.get(fault.file or "", fault.file),
            line=fault.line,
        )
        for fault in report.faults
    ]
    findings = [
        SarifResult(
            rule=f"memory/{found.kind}",
            level=found.severity,
            message=found.sentence(),
            path=paths.get(found.file or "", found.file),
            line=found.line,
            column=found.column,
            other_line=found.other_line if found.other_file == found.file else None,
        )
        for found in report.findings
    ]
    log = sarif_log([*faults, *findings])
    path.write_text(json.dumps(log, indent=2) + "\n", encoding="utf-8")


def _print_kernel(kernel: KernelCounters, to: TextIO | None) -> None:
    launches = f"{kernel.launches} launch{'es' * (kernel.launches != 1)}"
    if kernel.of_library:
        # The emulation computes it in another way than the library does on a GPU.
        print(f"\n{kernel.kernel}: {launches}; a library's accesses are not counted", file=to)
        return
    ratio = kernel.traffic_ratio
    print(
        f"\n{kernel.kernel}: {launches}, "
        f"{kernel.counted_blocks} of {kernel.blocks} blocks counted"
        + (f", {ratio:.2f} times the least traffic" if ratio is not None else "")
        + (" (incomplete: a log was full)" if kernel.truncated else ""),
        file=to,
    )
    if not kernel.lines:
        return
    header = (
        "line",
        "access",
        "bytes",
        "requests",
        "sectors",
        "per request",
        "wavefronts",
        "conflicts",
    )
    rows = [header, *(_row(line) for line in kernel.lines)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(header))]
    for row in rows:
        cells = [
            cell.ljust(width) if i < 2 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  " + "  ".join(cells).rstrip(), file=to)


def _row(line: LineCounters) -> tuple[str, ...]:
    shared = line.space == "shared"
    return (
        f"{line.file}:{line.line}",
        f"{line.space} {line.operation}",
        str(line.access_bytes),
        str(line.requests),
        "" if shared else str(line.sectors),
        "" if shared else f"{line.sectors_per_request:.2f}",
        str(line.wavefronts) if shared else "",
        str(line.bank_conflicts) if shared else "",
    )
