"""Turn the state of one file into its lines in the report, with points.

a check             earns all of its points, a share if its outcome has one, or none
several outcomes    divide the points by weight (correctness: by number of cases)
needs right cases   its points are pending while the cases are undecided, lost if they are wrong
a GPU stops         right cases, too, earn nothing if the memory check finds where every GPU stops
not run yet         its points are pending, neither won nor lost
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from grader.assignment.model import Kernel
from grader.build.artifact import Built, Rejected
from grader.checks.check import Check, CheckOutcome
from grader.checks.registry import named
from grader.errors import GraderError
from grader.grading.file_state import FileState
from grader.grading.plan import Options
from grader.grading.score import check_line, shares
from grader.report.model import CheckResult
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName, Visibility

NOT_YET = "not graded yet"


def results(state: FileState, options: Options, *, finished: bool) -> list[CheckResult]:
    """Return the lines of one file in the order of a report, also while checks still run."""
    kernel = state.file.kernel
    lines: list[CheckResult] = []
    if state.build is not None:
        lines.append(build_result(state.build))
    if isinstance(state.build, Rejected):
        lines += without_build(kernel, state.build)
    else:
        correct = state.correct
        for name, outcomes in state.found.items():
            found = check_results(kernel, named(name), outcomes, correct=correct)
            if name is CheckName.CORRECTNESS and state.stops:
                found = _without_points(found, "no points: a GPU stops at the misaligned access")
            lines += found
        if state.failure is None and not finished:
            lines += _not_yet(state, options)
    if state.failure is not None:
        lines.append(grader_error(kernel, *state.failure))
    order = tuple(CheckName)
    lines.sort(key=lambda line: order.index(line.check))
    return without_forbidden_points(lines)


def without_forbidden_points(lines: list[CheckResult]) -> list[CheckResult]:
    """Return a kernel's lines, all without points if one of them is forbidden."""
    return _unearned(lines, Verdict.FORBIDDEN, "no points: the kernel breaks a rule")


def build_result(build: Built | Rejected) -> CheckResult:
    """Return the line of the build, which earns no points."""
    if isinstance(build, Built):
        verdict, message, hint = Verdict.ACCEPTED, build.evidence.tool, ""
    else:
        verdict, message, hint = build.verdict, build.message, build.hint
    line = check_line(CheckName.BUILD, verdict, 0.0, message)
    return replace(line, hint=hint, evidence=build.evidence)


def without_build(kernel: Kernel, rejected: Rejected) -> list[CheckResult]:
    """Return the lines of all checks of a kernel that could not be built."""
    pending = rejected.verdict.pending
    verdict = Verdict.NOT_MEASURED if pending else Verdict.SKIPPED
    message = "this machine cannot run it: see build" if pending else "not counted: see build"
    return [check_line(check, verdict, most, message) for check, most in kernel.points.items()]


def check_results(
    kernel: Kernel,
    check: Check[Any],
    outcomes: Sequence[CheckOutcome[Any]],
    *,
    correct: bool | None,
) -> list[CheckResult]:
    """Return a line for each outcome of a check; `correct` is None while that is undecided."""
    hidden = [one.visibility is not Visibility.VISIBLE for one in outcomes]
    weights = [one.weight for one in outcomes]
    most = shares(kernel.points.get(check.name, 0.0), weights, hidden)
    lines = []
    for outcome, share in zip(outcomes, most, strict=True):
        line = replace(
            check_line(check.name, outcome.verdict, share, outcome.diagnosis.message),
            name=outcome.label or check.name,
            hint=outcome.diagnosis.hint,
            visibility=outcome.visibility,
            wall_s=outcome.wall_s or 0.0,
            evidence=outcome.evidence,
        )
        if outcome.share is not None and not line.pending:
            line = replace(line, score=round(share * outcome.share, 2))
        lines.append(_if_correct(line, correct) if check.needs_correct else line)
    return _unearned(lines, Verdict.TAMPERED, "no points: other cases were tampered with")


def grader_error(kernel: Kernel, during: CheckName, error: GraderError) -> CheckResult:
    """Return the line for the grader's own error, which makes the kernel's score unknown."""
    whole = during == CheckName.CORRECTNESS
    most = kernel.max_score if whole else kernel.points.get(during, 0.0)
    message = f"the grader failed, not your code: {error.message}"
    return replace(check_line(during, Verdict.GRADER_ERROR, most, message), hint=error.tip or "")


def _not_yet(state: FileState, options: Options) -> list[CheckResult]:
    """Return a line for each check with points that has not run."""
    wrong = state.correct is False
    return [
        replace(
            check_line(name, Verdict.NOT_MEASURED, most, NOT_YET),
            # Wrong cases have decided these points already.
            pending=0.0 if wrong and named(name).needs_correct else most,
            waiting=True,
        )
        for name, most in state.file.kernel.points.items()
        if name not in state.found and options.includes(name)
    ]


def _if_correct(line: CheckResult, correct: bool | None) -> CheckResult:
    """Return the line of a check whose points need right cases."""
    if correct or not (line.score or line.pending):
        return line
    if correct is None:
        waits = "; its points wait for the correctness check" if line.score else ""
        return replace(line, score=0.0, pending=line.max_score, message=f"{line.message}{waits}")
    if line.pending:
        return replace(line, pending=0.0)
    unearned = "its points count only when the cases are right"
    return replace(line, score=0.0, message=f"{line.message}; {unearned}")


def _unearned(lines: list[CheckResult], verdict: Verdict, why: str) -> list[CheckResult]:
    """Return the lines, without points if one of them has this verdict."""
    if all(line.verdict is not verdict for line in lines):
        return lines
    return _without_points(lines, why)


def _without_points(lines: list[CheckResult], why: str) -> list[CheckResult]:
    """Return the lines without points; those that lose some say why."""
    return [
        replace(line, score=0.0, pending=0.0, message=f"{line.message}; {why}")
        if line.score or line.pending
        else line
        for line in lines
    ]
