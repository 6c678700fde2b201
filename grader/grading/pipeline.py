"""Grade one submission for one assignment.

plan        find the kernels and languages that were handed in
build       build all files, in threads, while torch is imported here
check       run the checks by cost: cheap checks of every file first, so a timeout loses least;
            several files side by side, but nothing beside a kernel that is timed
score       compute points and the report, also a partial report after each step

The report does not depend on the order in which threads end. On a GPU, files share its memory: if
one of them runs out of memory, all that failed are checked again, one after another.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from grader.assignment.model import PROGRAM_LANGUAGE, Assignment
from grader.build.artifact import Rejected
from grader.checks.check import Check, CheckOutcome, Cost
from grader.checks.registry import checks, named
from grader.gpu.nvml import Gpu
from grader.grading import score
from grader.grading.check_results import results
from grader.grading.context import FileContext, GradingContext, open_context
from grader.grading.file_state import FileState
from grader.grading.identity import identity
from grader.grading.internal_error import as_grader_error
from grader.grading.partial import ended
from grader.grading.plan import Options, Plan, absence_reason, make_plan
from grader.grading.progress import Progress
from grader.grading.side_by_side import run_side_by_side
from grader.grading.source_lines import source_lines
from grader.judge.python_server import PythonServer
from grader.report.model import CheckResult, KernelResult, Report
from grader.report.verdict import Verdict
from grader.submission.reader import Submission
from grader.vocabulary import CheckName

# On a GPU: a worker that compiles, and the judge.
_CORES_PER_FILE = 2
# The tools of a memory check run side by side. A driver opens the GPU for one process after
# another, so more of them would only wait.
_CORES_PER_TOOLS = 5
# Contexts of the judge's worker or of four tools, arrays and the submission's own memory.
_GPU_MIB_PER_FILE = 8192


def grade(
    assignment: Assignment,
    submission: Submission,
    options: Options,
    progress: Progress,
    server: PythonServer | None = None,
    on_report: Callable[[Report], None] | None = None,
    cores: int | None = None,
) -> Report:
    """Grade `submission` and return the report.

    A caller that grades many submissions passes a `server` for Python to be reused, and the number
    of `cores` to use, by default all. `on_report`, called in this thread, gets the partial report
    at the beginning and after the checks of one cost of a file; unknown points are pending in it,
    and its environment is empty. Raises GraderError for an error of the assignment or the machine
    as a whole; an error in one kernel becomes that kernel's `grader_error`.
    """
    started_s = time.monotonic()
    plan = make_plan(assignment, submission, options)
    states = [FileState(file=file) for file in plan.files]
    # For partial reports, while threads change the states.
    shown = [state.copy() for state in states]
    news = threading.Event()

    def report(environment: dict[str, str | int | float | None], *, finished: bool) -> Report:
        of_files = states if finished else shown
        return score.assemble(
            assignment,
            _kernel_results(assignment, submission, options, plan, of_files, finished=finished),
            filtered=options.filtered(assignment),
            wall_s=round(time.monotonic() - started_s, 3),
            environment=environment,
        )

    def publish() -> None:
        if on_report is not None and news.is_set():
            news.clear()
            try:
                on_report(report({}, finished=False))
            except BaseException:  # interrupted: the next call passes it on
                news.set()
                raise

    news.set()
    publish()
    with open_context(assignment, options, plan, server, cores) as context:

        def run(step: _Step) -> None:
            if options.first and any(state.failed for state in states):
                return
            if _run(context, step, progress):
                shown[step.number] = step.file.state.copy()
                news.set()

        _run_all(context, states, run, publish)
        stopped = options.first and any(state.failed for state in states)
        environment = context.environment()
    found = report({**environment, **identity(assignment, submission)}, finished=not stopped)
    return ended(found, "not graded: a check above has failed (--first)") if stopped else found


def _run_all(
    context: GradingContext,
    states: list[FileState],
    run: Callable[[_Step], None],
    on_done: Callable[[], None],
) -> None:
    """Run the checks of all files: those of one cost before the next, or one file after another."""
    options = context.options
    # Imported files first: they need no compiler, and compile while their cases run.
    order = sorted(range(len(states)), key=lambda n: not states[n].file.language.imported)
    steps = [
        _Step(number=number, file=FileContext(context, states[number], states), cost=cost)
        for cost in Cost
        for number in order
    ]
    if options.first:
        steps.sort(key=lambda step: step.number)
        run_side_by_side(steps, 1, run, on_done=on_done)
        return
    untimed = [step for step in steps if step.cost != Cost.TIMING]
    timed = [step for step in steps if step.cost == Cost.TIMING]
    at_once = files_at_once(options.gpu, context.cores)
    crowded = partial(_crowded, context)
    run_side_by_side(untimed, at_once, run, waits_for=_waits_for, crowded=crowded, on_done=on_done)
    if options.gpu is not None and at_once > 1 and any(map(_may_lack_memory, states)):
        again = {step.number for step in untimed if step.file.state.failed}
        for number in again:
            states[number].reset()
        alone = [step for step in untimed if step.number in again]
        run_side_by_side(alone, 1, run, on_done=on_done)
    run_side_by_side(timed, 1, run, on_done=on_done)


def files_at_once(gpu: Gpu | None, cores: int) -> int:
    """Return how many files are checked side by side."""
    if gpu is None:
        return cores
    return max(1, min(cores // _CORES_PER_FILE, gpu.memory_free_mib // _GPU_MIB_PER_FILE))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """The checks of one cost on one file, which has this number in the submission."""

    number: int
    file: FileContext
    cost: Cost


def _is_linked(state: FileState) -> bool:
    return state.file.language is PROGRAM_LANGUAGE


def _waits_for(step: _Step, earlier: _Step) -> bool:
    """True if a step needs what an earlier one finds.

    The tools of a file need its cases only. A program runs with a CUDA C++ kernel whose cases are
    right.
    """
    if step.number == earlier.number:
        return earlier.cost < Cost.TOOLS
    kernel_cases = earlier.cost == Cost.CASES and _is_linked(earlier.file.state)
    return step.file.file.is_program and step.cost == Cost.PROGRAM and kernel_cases


def _crowded(context: GradingContext, step: _Step, running: Sequence[_Step]) -> bool:
    """True while as many memory checks use a GPU as its machine has cores for."""
    if context.options.gpu is None or step.cost != Cost.TOOLS:
        return False
    most = max(1, context.cores // _CORES_PER_TOOLS)
    return sum(other.cost == Cost.TOOLS for other in running) >= most


def _may_lack_memory(state: FileState) -> bool:
    """True if a check of the file found too little memory, or the grader failed in one."""
    verdicts = [one.verdict for outcomes in state.found.values() for one in outcomes]
    return Verdict.MEMORY_LIMIT in verdicts or state.failure is not None


def _run(context: GradingContext, step: _Step, progress: Progress) -> bool:
    """Run the checks of one cost on one file, after its build if these are the first.

    Returns True if anything ran. Any exception becomes this file's grader_error, which ends its
    checks.
    """
    ran, file, state = False, step.file, step.file.state
    during = CheckName.CORRECTNESS
    try:
        if step.cost == Cost.CASES:
            with progress.step(f"{file.file.title} · build"):
                file.wait_for_build()
            ran = True
        for check in (check for check in checks() if check.cost == step.cost):
            during = check.name
            if _ended(state, step.cost) or isinstance(state.build, Rejected):
                break
            if not context.options.includes(check.name) or not check.applies(file):
                continue
            ran = True
            prevented = check.prevented(file)
            if prevented is not None:
                state.found[check.name] = (prevented,)
                continue
            with progress.step(f"{file.file.title} · {check.name}") as shown_step:
                file.step = shown_step
                state.found[check.name] = _timed_run(check, file)
    except Exception as error:
        state.fail(during, as_grader_error(error))
        ran = True
    return ran


def _ended(state: FileState, cost: Cost) -> bool:
    """True if a failure of the grader ends the checks, in whatever order the threads come."""
    return state.failure is not None and (
        named(state.failure[0]).cost < Cost.TOOLS or cost == Cost.TIMING
    )


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
    source = state.file.source
    return replace(result, source_lines=source_lines(source.text, checks, source.header_texts))
