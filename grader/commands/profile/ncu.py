"""The GPU's hardware counters for one call, from Nsight Compute.

The submission's worker runs under ncu with private buffers, as under compute-sanitizer.
Many machines reserve the counters for administrators; the tool's log then says so.
"""

from __future__ import annotations

import csv
import itertools
from dataclasses import replace

from grader.checks.common.case_run import RunSetup
from grader.checks.common.tool_run import Prepared, run_under_tool
from grader.judge.session import Session
from grader.sandbox import scratch_dir
from grader.system.toolchain import Tool

METRICS = {
    "gpu__time_duration.sum": "time",
    "dram__bytes.sum": "bytes to and from memory",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "load sectors",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": "store sectors",
    "launch__registers_per_thread": "registers per thread",
    "launch__shared_mem_per_block_static": "static shared memory per block",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "occupancy",
}
_LOG = "ncu.csv"
_LOG_BYTES = 4 << 20
_REPORT = "report"  # ncu adds its ending
_REPORT_BYTES = 256 << 20
_CALL_S, _LOAD_S, _FINISH_S = 60.0, 120.0, 60.0
_REFUSED = "ERR_NVGPUCTRPERM"
_NO_KERNELS = "No kernels were profiled"  # in CUDA 13.0's ncu


def counters(setup: RunSetup, ncu: Tool, case: Prepared) -> tuple[list[tuple[str, str]], str]:
    """Run one case under ncu with private buffers.

    Returns (metric, value) pairs, and a reason if there are none.
    """
    _, log, failure = _run(setup, ncu, case, ("--csv", "--metrics", ",".join(METRICS)))
    metrics = parse(log)
    return metrics, "" if metrics else _reason(log, failure)


def whole_report(setup: RunSetup, ncu: Tool, case: Prepared) -> tuple[bytes, str]:
    """Return ncu's report of one case for Nsight Compute, and a reason if it is empty."""
    stored, log, failure = _run(setup, ncu, case, ("--set", "full", "--export", _REPORT))
    return stored, "" if stored else _reason(log, failure)


def _run(
    setup: RunSetup, ncu: Tool, case: Prepared, options: tuple[str, ...]
) -> tuple[bytes, str, str]:
    """Return the report that ncu exported (empty without one), its log, and why the run failed."""
    tool_command = (
        *(str(ncu.path), "--log-file", _LOG, "--clock-control", "none"),
        *("--target-processes", "all", *options),
    )
    limits = replace(setup.assignment.limits, call_s=_CALL_S, load_s=_LOAD_S, memory_mib=1 << 20)
    with Session(setup.built, limits, setup.server, tool_command=tool_command) as session:
        outcome = run_under_tool(setup, session, [case], limits)
        session.finish(_FINISH_S)
        read = scratch_dir.read_if_there
        stored = read(session.folder / f"{_REPORT}.ncu-rep", _REPORT_BYTES)
        log = read(session.folder / _LOG, _LOG_BYTES).decode("utf-8", "replace")
    return stored, log, outcome.failure.message if outcome.failure else ""


def _reason(log: str, failure: str) -> str:
    """Return why ncu gave nothing."""
    if _REFUSED in log:
        return "only administrators may read the GPU's counters here (ERR_NVGPUCTRPERM)"
    if not failure and _NO_KERNELS in log:
        return "no kernel was launched"
    last = (log.strip().splitlines() or ["empty log"])[-1][:200]
    return failure or f"ncu gave no figures: {last}"


def parse(log: str) -> list[tuple[str, str]]:
    """Return (metric, value with unit) of the first kernel in ncu's CSV; skip other output."""
    table = itertools.dropwhile(lambda line: not line.startswith('"ID"'), log.splitlines())
    rows = list(csv.DictReader(table))
    first = rows[0]["ID"] if rows else ""
    return [
        (METRICS[row["Metric Name"]], f"{row['Metric Value']} {row['Metric Unit']}".strip())
        for row in rows
        if row["ID"] == first and row.get("Metric Name") in METRICS
    ]
