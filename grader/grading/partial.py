"""Reports of gradings that have not finished, or that ran out of time."""

from __future__ import annotations

from dataclasses import replace

from grader.report.model import CheckResult, Report


def is_unfinished(report: Report) -> bool:
    """True if a check has not run yet."""
    return any(check.waiting for kernel in report.kernels for check in kernel.checks)


def out_of_time(report: Report, budget_s: float) -> Report:
    """Return the report of a run that is out of time: the remaining checks are not measured."""

    def ended(check: CheckResult) -> CheckResult:
        if not check.waiting:
            return check
        return replace(
            check,
            message=f"not graded: the run ended at its limit of {budget_s:g} s",
            hint="your staff can grade the submission again with more time",
            waiting=False,
        )

    return replace(
        report,
        kernels=tuple(
            replace(kernel, checks=tuple(map(ended, kernel.checks))) for kernel in report.kernels
        ),
    )
