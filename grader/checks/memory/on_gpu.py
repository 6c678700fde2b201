"""The memory check of CUDA C++ on a GPU: compute-sanitizer's tools, and the checked host build.

All run side by side. The host build sees what the tools are blind for (races in global memory,
uninitialised shared memory); its findings count like theirs. Whether the submission works is the
tools' word, which run it on the GPU; where they cannot run, the host build's.

A tool that cannot run is not the student's fault. Where a run fails, the same cases are called
once without any tool: if they fail there too, the submission is at fault; if not, the tool is, and
memory was not measured. Only a time limit stands by itself, with generous bounds under a tool.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

from grader.assignment.model import Limits
from grader.checks.check import CheckOutcome
from grader.checks.common.case_run import RunSetup
from grader.checks.common.source_evidence import with_sources
from grader.checks.common.symbolization import locator
from grader.checks.common.tool_run import Prepared, run_under_tool
from grader.checks.memory import sanitizer, sanitizer_prestart
from grader.checks.memory.sanitizer_result import not_run, run_tools, tool_result
from grader.checks.memory.verdict import ToolResult, combine
from grader.judge.session import Session
from grader.report.evidence import MemoryEvidence
from grader.report.verdict import Verdict
from grader.system.retry import Pool
from grader.system.toolchain import Tool

_FINISH_S = 30.0
# Verdicts that cannot be the tool's fault: a slow run, or a submission that tampered.
_OWN_FAULTS = frozenset({Verdict.TIME_LIMIT, Verdict.TAMPERED})


def check_gpu_memory(
    setup: RunSetup,
    tool: Tool | None,
    cases: Sequence[Prepared],
    advance: Callable[[str], None],
    started: Mapping[str, Session] | None = None,
    on_host: Callable[[], ToolResult] | None = None,
    *,
    hangs: bool = False,
) -> CheckOutcome[MemoryEvidence]:
    """Run the submission under compute-sanitizer's tools, as many at once as there are cores.

    `tool` is compute-sanitizer, None without it. `started` maps its tools to prestarted workers,
    which are used and ended here. `on_host` runs the checked host build. With `hangs` no call has
    ended without a tool: the tools run once, for a call's usual time, and tell what comes before.
    """
    limits = sanitizer_prestart.limits_under_tool(setup.assignment.limits)
    with ExitStack() as undo:
        for session in (started or {}).values():
            undo.enter_context(session)
        unused = dict(started or {})
        if hangs:
            limits = replace(limits, call_s=setup.assignment.limits.call_s)
            unused = {}  # they have the longer limit
        beside = undo.enter_context(Pool(1, thread_name_prefix="host build"))
        host = beside.submit(on_host) if on_host is not None else None
        if tool is None:
            results = not_run("compute-sanitizer is not on this machine")
        else:
            results = run_tools(
                # A second try gets a new worker.
                lambda name: run_sanitizer(
                    setup, tool, name, cases, limits, unused.pop(name, None)
                ),
                advance,
                None if hangs else setup.budget,
            )
        emulated = host.result() if host is not None else None
    if any(map(in_doubt, results)) and not (hangs or fails_without_a_tool(setup, cases)):
        results = [could_not_run(one) if in_doubt(one) else one for one in results]
    return _combined(results, emulated, cases, setup.built.given)


def _combined(
    results: Sequence[ToolResult],
    emulated: ToolResult | None,
    cases: Sequence[Prepared],
    given: Collection[str],
) -> CheckOutcome[MemoryEvidence]:
    """Return one verdict of the tools and the checked host build, None without it."""
    if emulated is None:
        return combine(results, cases, given=given)
    if emulated.outcome.failure is not None and not emulated.proves_fault:
        emulated = could_not_run(emulated)
    tools_ran = all(result.problem is None for result in results)
    alone = not tools_ran and emulated.problem is None
    judged = [emulated] if alone else results
    if emulated.tampered is not None:
        judged = [*judged, emulated]
    return combine([*results, emulated], cases, judged, given=given)


def in_doubt(result: ToolResult) -> bool:
    """True if a run failed for a reason that may be the tool's fault."""
    failure = result.outcome.failure
    return failure is not None and failure.verdict not in _OWN_FAULTS and not result.proves_fault


def fails_without_a_tool(setup: RunSetup, cases: Sequence[Prepared]) -> bool:
    """True if the submission fails on these cases on the GPU, too."""
    limits = setup.assignment.limits
    with Session(setup.built, limits, setup.server, budget=setup.budget) as session:
        return run_under_tool(setup, session, cases, limits).failure is not None


def could_not_run(result: ToolResult) -> ToolResult:
    """Return the result of a tool that fails on cases which pass without it."""
    assert result.outcome.failure is not None
    reason = result.log_line or result.outcome.failure.message
    problem = f"{result.tool} could not run: {reason}"
    return replace(result, problem=problem, outcome=replace(result.outcome, failure=None))


def run_sanitizer(
    setup: RunSetup,
    tool: Tool,
    name: str,
    cases: Sequence[Prepared],
    limits: Limits,
    started: Session | None = None,
) -> ToolResult:
    """Run one of the sanitizer's tools over the cases, in the `started` worker or a new one.

    The worker is ended.
    """
    started_s = time.monotonic()
    locate = locator(setup.built)
    with started or sanitizer_prestart.start(setup.built, limits, tool, name) as session:
        outcome = run_under_tool(setup, session, cases, limits, calls=sanitizer.calls(name))
        ended = session.finish(_FINISH_S)
        result = tool_result(
            name,
            session.folder,
            file=setup.built.file,
            headers=setup.built.own_names,
            copy=session.copy_name,
            locate=locate,
            ended=ended,
            outcome=outcome,
            output=session.output,
            wall_s=time.monotonic() - started_s,
        )
    return with_source_hints(result, setup)


def with_source_hints(result: ToolResult, setup: RunSetup) -> ToolResult:
    """Return the result with what the source shows about each finding as its hint."""
    found = with_sources(result.findings, setup.built, setup.assignment.signature)
    return replace(result, findings=found)
