"""Is the hand-in's use of memory sound? Small cases again, under a tool that watches.

    GPU, both languages   compute-sanitizer's four tools, side by side (`gpu_memory`)
    processor, CUDA C++   the checked host build: every access is looked at
    processor, Triton     the interpreter: every address is looked at

A tool's silence is the worker's word. It counts only together with what the
judge saw: every case of the run gave right outputs in the judge's own copy,
and accesses were counted. Findings cost points whoever tells them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from grader.checks.check import CheckOutcome
from grader.checks.common import interpreter_findings
from grader.checks.common.case_run import RunSetup
from grader.checks.common.emulation_findings import TOOL as HOST_TOOL
from grader.checks.common.emulation_findings import HostRun, read_run
from grader.checks.common.findings import hint
from grader.checks.common.tool_run import Prepared, run_under_tool
from grader.checks.memory.verdict import Seen, add_up
from grader.judge.session import Session
from grader.report.evidence import Finding, MemoryEvidence, ToolRun
from grader.vocabulary import Memory

_SCHEDULES = ("schedule=forward", "schedule=random seed=1")


def check_host_memory(
    setup: RunSetup, text: str, cases: Sequence[Prepared], advance: Callable[[str], None]
) -> CheckOutcome[MemoryEvidence]:
    """Run a checked host build; `text` is the student's file as rewritten.

    Twice, if the first run finds nothing: threads run one after another here,
    and what depends on their order comes out right in one order only.
    """
    seen = _host_run(setup, text, cases, _SCHEDULES[0])
    advance("threads in order")
    if not seen.outcome.wrong and seen.outcome.failure is None and not seen.convicts:
        other = _host_run(setup, text, cases, _SCHEDULES[1])
        if other.outcome.wrong and not other.convicts:
            other = replace(other, findings=(*other.findings, _order_dependent(setup)))
        if other.outcome.wrong or other.outcome.failure is not None or other.convicts:
            seen = other
    advance("threads in another order")
    return add_up([seen], cases)


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


def _host_run(setup: RunSetup, text: str, cases: Sequence[Prepared], schedule: str) -> Seen:
    """Run the checked host build over the cases, threads in the order of `schedule`."""
    started_s = time.monotonic()
    limits = setup.assignment.limits
    with Session(setup.built, limits, None, host_settings=schedule) as session:
        outcome = run_under_tool(setup, session, cases, limits, calls=2)
        output = session.output
    tampered = silent = problem = None
    findings: tuple[Finding, ...] = ()
    try:
        lines = [json.dumps(record) for record in outcome.told]
        run = read_run(lines, setup.built.path, setup.built.file, text)
        findings = run.findings
        problem = run.unsupported[0] if run.unsupported else None
        silent = _host_silence(setup, run)
    except ValueError:
        tampered = "the hand-in wrote into the memory checker's report"
    tool = ToolRun(
        tool=HOST_TOOL,
        findings=sum(finding.count for finding in findings),
        wall_s=round(time.monotonic() - started_s, 3),
        problem=problem,
    )
    return Seen(
        run=tool,
        outcome=outcome,
        findings=findings,
        output=output,
        silent=silent,
        tampered=tampered,
    )


def _host_silence(setup: RunSetup, run: HostRun) -> str | None:
    """Say why a run without findings would prove nothing, None if it proves something.

    Where an array is in host memory, copies may be all that there is to do.
    """
    if any(array.memory is Memory.HOST for array in setup.assignment.signature.arrays):
        moved = run.accesses or run.copied_bytes
        return None if moved else "no copy and no kernel touched any memory in this run"
    return None if run.accesses else "no kernel touched any memory in this run"


def check_interpreter_memory(
    setup: RunSetup, cases: Sequence[Prepared], advance: Callable[[str], None]
) -> CheckOutcome[MemoryEvidence]:
    """Run a Triton hand-in in the interpreter with every address checked."""
    started_s = time.monotonic()
    limits = setup.assignment.limits
    with Session(setup.built, limits, setup.server, watch_memory=True) as session:
        outcome = run_under_tool(setup, session, cases, limits)
        output = session.output
    tampered = silent = None
    findings: tuple[Finding, ...] = ()
    try:
        findings, accesses = interpreter_findings.read_run(outcome.told, setup.built.file)
        silent = None if accesses else "no kernel touched any memory in this run"
    except ValueError:
        tampered = "the hand-in wrote into the memory checker's report"
    advance(interpreter_findings.TOOL)
    tool = ToolRun(
        tool=interpreter_findings.TOOL,
        findings=sum(finding.count for finding in findings),
        wall_s=round(time.monotonic() - started_s, 3),
    )
    seen = Seen(
        run=tool,
        outcome=outcome,
        findings=findings,
        output=output,
        silent=silent,
        tampered=tampered,
    )
    return add_up([seen], cases)
