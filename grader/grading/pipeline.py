"""Grade one submission for one assignment.

plan        find the kernels and languages that were handed in
build       build all files, in threads, while torch is imported here
check       run the checks by cost: cheap checks of every file first, so a timeout loses least
score       compute points and the report, also a partial report after each check
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from grader.assignment.model import Assignment
from grader.build.artifact import Rejected
from grader.checks.check import Check, CheckOutcome, Cost
from grader.checks.registry import checks
from grader.gpu.lock import shared_use
from grader.grading import score
from grader.grading.check_results import results
from grader.grading.context import FileContext, GradingContext, open_context
from grader.grading.file_state import FileState
from grader.grading.identity import identity
from grader.grading.internal_error import as_grader_error
from grader.grading.plan import Options, Plan, absence_reason, make_plan
from grader.grading.progress import Progress
from grader.grading.source_lines import source_lines
from grader.judge.python_server import PythonServer
from grader.report.model import CheckResult, KernelResult, Report
from grader.submission.reader import Submission
from grader.vocabulary import CheckName


def grade(
    assignment: Assignment,
    submission: Submission,
    options: Options,
    progress: Progress,
    server: PythonServer | None = None,
    on_report: Callable[[Report], None] | None = None,
) -> Report:
    """Grade `submission` and return the report.

    A caller that grades many submissions passes a `server` for Python to be reused. `on_report`
    gets the partial report at the beginning and after each check; unknown points are pending in it,
    and its environment is empty. Raises GraderError for an error of the assignment or the machine
    as a whole; an error in one kernel becomes that kernel's `grader_error`.
    """
    started_s = time.monotonic()
    plan = make_plan(assignment, submission, options)
    states = [FileState(file=file) for file in plan.files]

    def report(environment: dict[str, str | int | float | None], *, finished: bool) -> Report:
        return score.assemble(
            assignment,
            _kernel_results(assignment, submission, options, plan, states, finished=finished),
            filtered=options.filtered(assignment),
            wall_s=round(time.monotonic() - started_s, 3),
            environment=environment,
        )

    def publish() -> None:
        if on_report is not None:
            on_report(report({}, finished=False))

    publish()
    with (
        shared_use(options.gpu.uuid if options.gpu else None),
        open_context(assignment, options, plan, server) as context,
    ):
        files = [FileContext(context, state, states) for state in states]
        for cost, group in groupby(checks(), key=lambda check: check.cost):
            of_cost = tuple(group)
            for file in files:
                if _run(context, file, of_cost, progress, build=cost == Cost.CASES):
                    publish()
        environment = context.environment()
    return report({**environment, **identity(assignment, submission)}, finished=True)


def _run(
    context: GradingContext,
    file: FileContext,
    of_cost: tuple[Check[Any], ...],
    progress: Progress,
    *,
    build: bool,
) -> bool:
    """Run the checks of one cost on one file, after its build if asked; True if anything ran.

    Any exception becomes this kernel's grader_error and ends its checks.
    """
    ran, state = False, file.state
    during = CheckName.CORRECTNESS
    try:
        if build:
            with progress.step(f"{file.file.title} · build"):
                file.wait_for_build()
            ran = True
        for check in of_cost:
            during = check.name
            if state.failure is not None or isinstance(state.build, Rejected):
                break
            if not context.options.includes(check.name) or not check.applies(file):
                continue
            ran = True
            prevented = check.prevented(file)
            if prevented is not None:
                state.found[check.name] = (prevented,)
                continue
            with progress.step(f"{file.file.title} · {check.name}") as step:
                file.step = step
                state.found[check.name] = _timed_run(check, file)
    except Exception as error:
        state.failure = during, as_grader_error(error)
        ran = True
    return ran


def _timed_run(check: Check[Any], file: FileContext) -> tuple[CheckOutcome[Any], ...]:
    """Run a check; return its outcomes, with the time of the run where they have none."""
    started_s = time.monotonic()
    outcomes = check.run(file)
    wall_s = round(time.monotonic() - started_s, 3)
    return tuple(
        replace(outcome, wall_s=wall_s) if outcome.wall_s is None else outcome
        for outcome in outcomes
    )


def _kernel_results(
    assignment: Assignment,
    submission: Submission,
    options: Options,
    plan: Plan,
    states: Sequence[FileState],
    *,
    finished: bool,
) -> list[KernelResult]:
    """Return the results of every kernel, one for each language that was handed in."""
    found: list[KernelResult] = []
    for kernel, _ in plan.kernels:
        graded = [
            _kernel_result(state, results(state, options, finished=finished))
            for state in states
            if state.file.kernel is kernel
        ]
        found += score.mark_counted(graded) or [
            score.not_submitted(kernel, absence_reason(assignment, submission, kernel, options))
        ]
    return found


def _kernel_result(state: FileState, checks: Sequence[CheckResult]) -> KernelResult:
    result = score.kernel_result(state.file.kernel, state.file.language, checks)
    return replace(result, source_lines=source_lines(state.file.source.text, checks))
