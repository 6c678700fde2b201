"""The memory check without a GPU: small cases again, with every access checked.

    CUDA C++   the checked host build checks every access
    Triton     the executor of launches checks every address

compute-sanitizer does the same on a GPU (`on_gpu`, `triton_on_gpu`). A report without findings does
not count by itself, because in CUDA C++ it comes from the worker: the judge must have seen right
outputs in every case of the run, and accesses must have been counted. Findings always cost points.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from grader.checks.check import CheckOutcome
from grader.checks.common import executor_findings
from grader.checks.common.case_run import RunSetup
from grader.checks.common.emulation_findings import TOOL as HOST_TOOL
from grader.checks.common.emulation_findings import HostRun, read_run
from grader.checks.common.findings import hint
from grader.checks.common.tool_run import Prepared, run_under_tool
from grader.checks.memory.verdict import ToolResult, combine
from grader.checks.memory.writers import small_writers
from grader.judge.session import Session
from grader.report.evidence import Finding, MemoryEvidence, ToolRun, Writers
from grader.vocabulary import Memory

_SCHEDULES = ("schedule=forward writers=1", "schedule=random seed=1")


def check_host_memory(
    setup: RunSetup, text: str, cases: Sequence[Prepared], advance: Callable[[str], None]
) -> CheckOutcome[MemoryEvidence]:
    """Run a checked host build; `text` is the rewritten source file."""
    return combine([host_result(setup, text, cases, advance)], cases)


def host_result(
    setup: RunSetup, text: str, cases: Sequence[Prepared], advance: Callable[[str], None]
) -> ToolResult:
    """Return what a checked host build finds.

    Runs a second time in another thread order if the first run finds nothing: the emulation runs
    threads one after another, and a race may give right results in one order only.
    """
    result = _host_run(setup, text, cases, _SCHEDULES[0])
    advance("threads in order")
    if not result.outcome.wrong and result.outcome.failure is None and not result.proves_fault:
        other = _host_run(setup, text, cases, _SCHEDULES[1])
        if other.outcome.wrong and not other.proves_fault:
            other = replace(other, findings=(*other.findings, _order_dependent(setup)))
        if other.outcome.wrong or other.outcome.failure is not None or other.proves_fault:
            result = other
    advance("threads in another order")
    return result


def _order_dependent(setup: RunSetup) -> Finding:
    return Finding(
        kind="race",
        severity="error",
        message="the result depends on the order in which threads run",
        hint=hint("race"),
        file=setup.built.file,
        line=None,
        tool=HOST_TOOL,
    )


def _host_run(setup: RunSetup, text: str, cases: Sequence[Prepared], schedule: str) -> ToolResult:
    """Run the checked host build over the cases, threads in the order of `schedule`."""
    started_s = time.monotonic()
    limits = setup.assignment.limits
    with Session(setup.built, limits, None, host_settings=schedule) as session:
        outcome = run_under_tool(setup, session, cases, limits, calls=2)
        output = session.output
    tampered = unproven = problem = None
    findings: tuple[Finding, ...] = ()
    drawn: tuple[Writers, ...] = ()
    try:
        lines = [json.dumps(record) for record in outcome.records]
        run = read_run(lines, setup.built.path, setup.built.file, text)
        findings = run.findings
        problem = run.unsupported[0] if run.unsupported else None
        unproven = _unproven(setup, run)
        sizes = {case.name: case.sizes for case, _ in cases}
        drawn = small_writers(outcome.records, setup, sizes)
    except ValueError:
        tampered = "the submission wrote into the memory checker's report"
    tool = ToolRun(
        tool=HOST_TOOL,
        findings=sum(finding.count for finding in findings),
        wall_s=round(time.monotonic() - started_s, 3),
        problem=problem,
    )
    return ToolResult(
        run=tool,
        outcome=outcome,
        findings=findings,
        output=output,
        unproven=unproven,
        tampered=tampered,
        writers=drawn,
    )


def _unproven(setup: RunSetup, run: HostRun) -> str | None:
    """Return why a run without findings proves nothing, None if it is a proof.

    With an array in host memory, copies can be all the work.
    """
    if any(array.memory is Memory.HOST for array in setup.assignment.signature.arrays):
        moved = run.accesses or run.copied_bytes
        return None if moved else "no copy and no kernel accessed any memory in this run"
    return None if run.accesses else "no kernel accessed any memory in this run"


def check_triton_memory(
    setup: RunSetup, cases: Sequence[Prepared], advance: Callable[[str], None]
) -> CheckOutcome[MemoryEvidence]:
    """Run a Triton submission; the executor of its launches checks every address."""
    limits = setup.assignment.limits
    with Session(setup.built, limits, setup.server, watch_memory=True) as session:
        result = executor_result(setup, session, cases)
    advance(executor_findings.TOOL)
    return combine([result], cases)


def executor_result(setup: RunSetup, session: Session, cases: Sequence[Prepared]) -> ToolResult:
    """Run the cases in a session whose executor checks memory; return what it found."""
    started_s = time.monotonic()
    outcome = run_under_tool(setup, session, cases, setup.assignment.limits)
    tampered = unproven = problem = None
    findings: tuple[Finding, ...] = ()
    try:
        findings, accesses = executor_findings.read_run(outcome.records, setup.built.file)
        unproven = None if accesses else "no kernel accessed any memory in this run"
        problem = executor_findings.not_executed(outcome.records)
    except ValueError:
        tampered = "the submission wrote into the memory checker's report"
    tool = ToolRun(
        tool=executor_findings.TOOL,
        findings=sum(finding.count for finding in findings),
        wall_s=round(time.monotonic() - started_s, 3),
        problem=problem,
    )
    return ToolResult(
        run=tool,
        outcome=outcome,
        findings=findings,
        output=session.output,
        unproven=unproven,
        tampered=tampered,
    )
