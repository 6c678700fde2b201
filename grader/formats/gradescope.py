"""Gradescope's results.json, by its specification of an autograder's output.

Every test is visible, for Gradescope hides the total score from students as soon
as one test is hidden: hidden cases are told by number, verdict and size of the
error inside a visible one. A test whose points are pending has no score at all,
so that it is shown as neither passed nor failed. What `extra_data` holds comes
back with the next submission.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grader.evidence import PerformanceEvidence
from grader.formats import told
from grader.report import Report
from grader.words import CheckName


def gradescope(
    report: Report, *, notes: tuple[str, ...] = (), extra: Mapping[str, Any] | None = None
) -> dict[str, Any] | None:
    """Return the results as JSON values; None if there is no score to publish.

    `notes` go above the result, `extra` into `extra_data`.
    """
    if report.score is None:
        return None  # without a valid file the submission counts as failed by us, not as 0
    results: dict[str, Any] = {
        "score": report.score,
        "execution_time": report.wall_s,
        "output": told.safe("\n".join((*notes, told.result(report)))),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [_test(entry) for entry in told.checks(report)],
    }
    if board := _leaderboard(report):
        results["leaderboard"] = board
    if extra:
        results["extra_data"] = dict(extra)
    return results


def _test(entry: told.Told) -> dict[str, Any]:
    test: dict[str, Any] = {
        "name": entry.name,
        "number": entry.number,
        "output": entry.text,
        "visibility": "visible",
    }
    if entry.score is not None and entry.decided:
        test |= {"score": entry.score, "max_score": entry.decided}
    if (status := told.status(entry.check)) is not None:
        test["status"] = status
    return test


def _leaderboard(report: Report) -> list[dict[str, Any]]:
    """Return the speedup of each kernel that counts and was timed."""
    return [
        {
            "name": told.safe_line(f"{kernel.name}: times as fast as torch"),
            "value": round(check.evidence.speedup, 3),
            "order": "desc",
        }
        for kernel in report.kernels
        for check in kernel.checks
        if kernel.counted
        and check.check is CheckName.PERFORMANCE
        and isinstance(check.evidence, PerformanceEvidence)
        and check.evidence.speedup is not None
    ]
