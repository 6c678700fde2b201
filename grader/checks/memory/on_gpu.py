"""The memory check of CUDA C++ on a GPU: compute-sanitizer's four tools, side by side.

A tool that cannot run is not the student's fault. Where a run fails, the same cases are called
once without any tool: if they fail there too, the submission is at fault; if not, the tool is, and
memory was not measured. Only a time limit stands by itself, with generous bounds under a tool.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

from grader.checks.check import CheckOutcome
from grader.checks.common.case_run import RunSetup
from grader.checks.common.source_lines import locator
from grader.checks.common.tool_run import Prepared, run_under_tool
from grader.checks.memory import sanitizer, sanitizer_prestart
from grader.checks.memory.sanitizer_result import Observed, tool_result
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
    tool: Tool,
    cases: Sequence[Prepared],
    advance: Callable[[str], None],
    started: Mapping[str, Session] | None = None,
) -> CheckOutcome[MemoryEvidence]:
    """Run the submission under compute-sanitizer's tools, as many at once as there are cores.

    `started` maps tools to prestarted workers, which are used and ended here.
    """

    def run(name: str) -> ToolResult:
        result = run_sanitizer(setup, tool, name, cases, (started or {}).get(name))
        advance(name)
        return result

    most = max(1, min(len(sanitizer.TOOLS), os.cpu_count() or 1))
    with ExitStack() as undo:
        for session in (started or {}).values():
            undo.enter_context(session)
        pool = undo.enter_context(Pool(most, thread_name_prefix="sanitizer"))
        results = list(pool.map(run, sanitizer.TOOLS))
    if any(map(in_doubt, results)) and not fails_without_a_tool(setup, cases):
        results = [could_not_run(one) if in_doubt(one) else one for one in results]
    return combine(results, cases)


def in_doubt(result: ToolResult) -> bool:
    """True if a run failed for a reason that may be the tool's fault."""
    failure = result.outcome.failure
    return failure is not None and failure.verdict not in _OWN_FAULTS and not result.proves_fault


def fails_without_a_tool(setup: RunSetup, cases: Sequence[Prepared]) -> bool:
    """True if the submission fails on these cases on the GPU, too."""
    limits = setup.assignment.limits
    with Session(setup.built, limits, setup.server) as session:
        return run_under_tool(setup, session, cases, limits).failure is not None


def could_not_run(result: ToolResult) -> ToolResult:
    """Return the result of a tool that fails on cases which pass without it."""
    assert result.outcome.failure is not None
    reason = result.log_line or result.outcome.failure.message
    problem = f"{result.run.tool} could not run: {reason}"
    return replace(
        result,
        run=replace(result.run, problem=problem),
        outcome=replace(result.outcome, failure=None),
    )


def run_sanitizer(
    setup: RunSetup,
    tool: Tool,
    name: str,
    cases: Sequence[Prepared],
    started: Session | None = None,
) -> ToolResult:
    """Run one of the sanitizer's tools over the cases, in the `started` worker or a new one.

    The worker is ended.
    """
    started_s = time.monotonic()
    limits = sanitizer_prestart.limits_under_tool(setup.assignment.limits)
    locate = locator(setup.built.path, setup.built.file)
    with started or sanitizer_prestart.start(setup.built, limits, tool, name) as session:
        outcome = run_under_tool(setup, session, cases, limits, calls=sanitizer.calls(name))
        ended = session.finish(_FINISH_S)
        return tool_result(
            name,
            Observed(
                folder=session.folder,
                file=setup.built.file,
                copy=session.copy_name,
                locate=locate,
                ended=ended,
                outcome=outcome,
                output=session.output,
                wall_s=time.monotonic() - started_s,
            ),
        )
