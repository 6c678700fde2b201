"""What a report says of checks that have not run, or will not for want of time.

A report may be asked for at any moment of a run. The points of what is not yet
known are pending, neither won nor lost, and stay so if the time runs out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from grader.assignment.model import Kernel
from grader.grading import check_results
from grader.grading.plan import Options
from grader.report.model import CheckResult, Report
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName

NOT_YET = "not graded yet"
_ORDER = list(CheckName)
# Of which a wrong answer has already decided the points.
_AFTER_CORRECTNESS = (CheckName.MEMORY, CheckName.PERFORMANCE, CheckName.COUNTERS)


def in_order(checks: Iterable[CheckResult]) -> list[CheckResult]:
    """Return the entries as a report shows them, in whatever order they were made."""
    return sorted(checks, key=lambda check: _ORDER.index(check.check))


def not_yet(kernel: Kernel, done: Sequence[CheckResult], options: Options) -> list[CheckResult]:
    """Return an entry for each check with points that has none among `done`."""
    decided = check_results.accepted(done, CheckName.CORRECTNESS) is False and any(
        check.check is CheckName.CORRECTNESS for check in done
    )
    made = {check.check for check in done}
    missing = []
    for check, most in kernel.points.items():
        if check in made or not options.wants(check):
            continue
        lost = decided and check in _AFTER_CORRECTNESS
        missing.append(
            CheckResult(
                check=check,
                name=check.value,
                verdict=Verdict.NOT_MEASURED,
                score=0.0,
                max_score=most,
                pending=0.0 if lost else most,
                message=NOT_YET,
            )
        )
    return missing


def is_unfinished(report: Report) -> bool:
    """True if a check of it has not run yet."""
    return any(check.message == NOT_YET for kernel in report.kernels for check in kernel.checks)


def out_of_time(report: Report, budget_s: float) -> Report:
    """Return the report of a run whose time is spent: what was to come is not measured."""
    reason = f"not graded: the {budget_s:g} s of this run were over before"
    hint = "your staff can grade the hand-in again with more time"
    return replace(
        report,
        kernels=tuple(
            replace(
                kernel,
                checks=tuple(
                    replace(check, message=reason, hint=hint) if check.message == NOT_YET else check
                    for check in kernel.checks
                ),
            )
            for kernel in report.kernels
        ),
    )
