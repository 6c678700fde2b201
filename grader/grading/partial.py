"""Reports of gradings that have not finished, or that ran out of time."""

from __future__ import annotations

from dataclasses import replace

from grader.report.model import CheckResult, Report


def is_unfinished(report: Report) -> bool:
    """True if a check has not run yet."""
    return any(check.waiting for kernel in report.kernels for check in kernel.checks)


def out_of_time(report: Report, budget_s: float) -> Report:
    """Return the report of a run that is out of time: the remaining checks are not measured."""
    return ended(
        report,
        f"not graded: the run ended at its limit of {budget_s:g} s",
        hint="your staff can grade the submission again with more time",
    )


def ended(report: Report, message: str, *, hint: str = "") -> Report:
    """Return the report with this message for the checks that have not run."""

    def closed(check: CheckResult) -> CheckResult:
        return replace(check, message=message, hint=hint, waiting=False) if check.waiting else check

    return replace(
        report,
        kernels=tuple(
            replace(kernel, checks=tuple(map(closed, kernel.checks))) for kernel in report.kernels
        ),
    )
