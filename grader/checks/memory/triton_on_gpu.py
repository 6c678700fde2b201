"""The memory check of Triton on a GPU: the executor of launches, and a replay on the GPU.

    worker (host code, on the CPU) ── launches ──→ executor ──→ findings
                                                      └→ recording ──→ replay under four tools

Host code runs once, as on a machine without a GPU. The executor checks every access, and records
the launches for a small program that repeats them on the GPU under compute-sanitizer. A tool that
cannot run leaves the word to the others: either the executor or all four tools must have run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace

from grader.checks.check import CheckOutcome
from grader.checks.common import executor_findings
from grader.checks.common.case_run import RunSetup
from grader.checks.common.second_try import second_try
from grader.checks.common.tool_run import Prepared
from grader.checks.memory import launch_replay
from grader.checks.memory.launch_replay import NoReplayError
from grader.checks.memory.on_cpu import executor_result
from grader.checks.memory.on_gpu import (
    could_not_run,
    fails_without_a_tool,
    in_doubt,
    with_source_hints,
)
from grader.checks.memory.sanitizer_result import not_run
from grader.checks.memory.verdict import ToolResult, combine
from grader.judge.session import Session
from grader.protocol.launches import LaunchMode
from grader.protocol.targets import Target
from grader.report.evidence import MemoryEvidence
from grader.system.retry import Pool
from grader.system.toolchain import Tool
from grader.vocabulary import Device


def check_triton_gpu_memory(
    setup: RunSetup,
    tool: Tool | None,
    cases: Sequence[Prepared],
    advance: Callable[[str], None],
    target: Target,
) -> CheckOutcome[MemoryEvidence]:
    """Run the submission's host code once, and replay its launches on this GPU, the target.

    `tool` is compute-sanitizer, None without it.
    """
    built = setup.built.on_cpu()
    on_cpu = replace(setup, built=built, driver=None, private=False)
    with Pool(1, thread_name_prefix="replay") as pool, ExitStack() as undo:

        def execute() -> tuple[Session, ToolResult]:
            session = undo.enter_context(
                Session(
                    built,
                    setup.assignment.limits,
                    setup.server,
                    mode=LaunchMode(records=True),
                    target=target,
                    budget=setup.budget,
                )
            )
            return session, executor_result(on_cpu, session, cases)

        # Compiled meanwhile, if this machine has not compiled it before.
        program = pool.submit(launch_replay.find_program)
        session, executed = second_try(
            setup.budget, Device.CPU, execute(), execute, lambda one: one[1].outcome.failure
        )
        advance(executor_findings.TOOL)
        if executed.tampered is not None:
            return combine([executed], cases)
        try:
            if executed.outcome.failure is not None:
                if not in_doubt(executed) or fails_without_a_tool(setup, cases):
                    return combine([executed], cases)
                executed = could_not_run(executed)
                raise NoReplayError("host code did not run to its end without a GPU")
            if tool is None:
                raise NoReplayError("compute-sanitizer is not on this machine")
            records = executed.outcome.records
            replay = launch_replay.prepare(session.recording, records, target, program.result())
            results = launch_replay.replay_all(
                replay, on_cpu, tool, cases, advance, faulty=executed.proves_fault
            )
            replayed = [with_source_hints(result, on_cpu) for result in results]
        except NoReplayError as error:
            replayed = not_run(str(error))
    return _combined(replayed, executed, cases)


def _combined(
    replayed: Sequence[ToolResult], executed: ToolResult, cases: Sequence[Prepared]
) -> CheckOutcome[MemoryEvidence]:
    """Return one verdict. Of equal findings the tools' are shown, which have block and thread."""
    results = [*replayed, executed]
    if not any(result.proves_fault for result in results):
        results = _agreeing(results)
    results[0] = replace(results[0], output=executed.output)
    executor_ran = results[-1].problem is None
    tools_ran = all(result.problem is None for result in results[:-1])
    judged = [result for result in results if result.problem is None]
    return combine(results, cases, judged if executor_ran or tools_ran else results)


def _agreeing(results: list[ToolResult]) -> list[ToolResult]:
    """Drop the word of a run with wrong outputs, unless all runs have wrong outputs.

    Each is a repetition of the same launches: one with right outputs shows that the submission's
    are right.
    """
    with_outputs = [result for result in (results[0], results[-1]) if result.problem is None]
    all_wrong = bool(with_outputs) and all(result.outcome.wrong for result in with_outputs)
    if all_wrong and results[-1] in with_outputs:
        return results
    return [_without_word(result) if result.outcome.wrong else result for result in results]


def _without_word(result: ToolResult) -> ToolResult:
    problem = result.problem or f"{result.tool}: the outputs of its run are wrong"
    outcome = replace(result.outcome, wrong=False)
    return replace(result, problem=problem, outcome=outcome, unproven=None)
