"""What one of compute-sanitizer's tools has found in a program that it ran."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

from grader.checks.common.diagnosis import Diagnosis
from grader.checks.common.second_try import second_try
from grader.checks.common.tool_run import ToolOutcome
from grader.checks.memory import sanitizer
from grader.checks.memory.sanitizer_xml import Locate, ReportError
from grader.checks.memory.verdict import ToolResult
from grader.judge.time_budget import TimeBudget
from grader.sandbox import spawn
from grader.system.retry import Pool
from grader.text.printable import last_line
from grader.vocabulary import Device


def tool_result(
    name: str,
    folder: Path,
    *,
    file: str,
    headers: Collection[str],
    copy: str,
    locate: Locate,
    ended: spawn.Ended,
    outcome: ToolOutcome,
    output: str,
    wall_s: float,
) -> ToolResult:
    """Return the result of a run under the tool `name` that has ended.

    The tool's files are in `folder`. `file` is the student's, which includes `headers`, `copy` the
    name of the copy that ran, and `locate` finds the lines of return addresses in it.
    """
    problem = None
    log_line = sanitizer.last_log_line(folder)
    try:
        report = sanitizer.read_report(folder, name, file, copy, locate, headers)
    except ReportError as error:
        # Not evidence of tampering: a killed tool leaves an incomplete report, too.
        report, problem = error.report, f"compute-sanitizer {name}: {error}"
    errors = any(finding.severity == "error" for finding in report.findings)
    exit_code = ended.exit_code
    if outcome.failure is not None:
        problem = None  # the failure says why the run ended early
    elif exit_code not in (0, sanitizer.FOUND) and not errors:
        reason = log_line or last_line(ended.output) or "it printed nothing"
        problem = f"compute-sanitizer {name} could not run ({_end(ended)}): {reason}"
    elif (
        exit_code == sanitizer.FOUND
        and not errors
        and not report.blames_submission
        and problem is None
        # With missing outputs the judge itself reads uninitialized memory.
        and not outcome.wrong
    ):
        problem = f"compute-sanitizer {name} found errors outside the submission's code"
    return ToolResult(
        tool=f"compute-sanitizer {name}",
        outcome=outcome,
        findings=report.findings,
        output=output,
        wall_s=wall_s,
        problem=problem,
        log_line=log_line,
    )


def _end(ended: spawn.Ended) -> str:
    if ended.signal is not None:
        return f"ended by signal {ended.signal}"
    return ended.end.value if ended.exit_code is None else f"exit code {ended.exit_code}"


def not_run(reason: str) -> list[ToolResult]:
    """Return the results of all tools on a machine where none can run."""
    names = [f"compute-sanitizer {name}" for name in sanitizer.TOOLS]
    return [ToolResult(tool=name, problem=f"{name} could not run: {reason}") for name in names]


def run_tools(
    run: Callable[[str], ToolResult], advance: Callable[[str], None], budget: TimeBudget | None
) -> list[ToolResult]:
    """Run each of the tools with `run`, as many at once as there are cores.

    With a budget those that exceed a time limit run once more, one by one, until one does so again.
    """

    def run_one(name: str) -> ToolResult:
        result = run(name)
        advance(name)
        return result

    most = max(1, min(len(sanitizer.TOOLS), os.cpu_count() or 1))
    with Pool(most, thread_name_prefix="sanitizer") as pool:
        results = list(pool.map(run_one, sanitizer.TOOLS))
    if budget is None:
        return results
    for i, name in enumerate(sanitizer.TOOLS):
        first = results[i]
        results[i] = second_try(
            budget, Device.CUDA, first, partial(run, name), _unproven_failure, crowded=True
        )
        if results[i] is not first and results[i].outcome.failure is not None:
            break
    return results


def _unproven_failure(result: ToolResult) -> Diagnosis | None:
    return None if result.proves_fault else result.outcome.failure
