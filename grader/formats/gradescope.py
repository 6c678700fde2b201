"""Gradescope's results.json, by its specification of an autograder's output.

Gradescope hides the total score from students as soon as one test is hidden. So
every test is visible, and shows only number, verdicts and largest error of hidden
cases. A test with pending points has no score, so that it shows as neither passed
nor failed. Gradescope returns `extra_data` with the next submission.

The submission's own output is HTML: the result, and figures as images, which Gradescope sanitises.
"""

from __future__ import annotations

from typing import Any

from grader.formats import student_view
from grader.formats.output_format import Extras, OutputFormat
from grader.report.evidence import PerformanceEvidence
from grader.report.model import Report
from grader.vocabulary import CheckName


class Gradescope(OutputFormat):
    """The file results.json; the log is for staff."""

    name = "gradescope"
    budget_s = 540.0  # of 10 minutes
    log_is_for_staff = True

    def values(self, report: Report, extras: Extras) -> dict[str, Any] | None:
        """Return results.json; None if there is no score to publish.

        The notes go above the result, `extra` into `extra_data`. What a late submission loses is
        taken off the whole score, not off its tests.
        """
        if report.score is None:
            return None  # without a valid file Gradescope reports an autograder error, not 0 points
        from grader.formats.html.embedded import embedded  # imports Jinja2, which takes 0.1 s

        results: dict[str, Any] = {
            "score": round(report.score * (1 - extras.share_lost), 2),
            "execution_time": report.wall_s,
            "output": embedded(report, extras.notes),
            "output_format": "html",
            "test_output_format": "text",
            "test_name_format": "text",
            "visibility": "visible",
            "stdout_visibility": "hidden",
            "tests": [_test(entry) for entry in student_view.checks(report)],
        }
        if board := _leaderboard(report):
            results["leaderboard"] = board
        if extras.extra:
            results["extra_data"] = dict(extras.extra)
        return results


def _test(entry: student_view.VisibleCheck) -> dict[str, Any]:
    test: dict[str, Any] = {
        "name": entry.name,
        "number": entry.number,
        "output": entry.text,
        "visibility": "visible",
    }
    if entry.score is not None and entry.decided:
        test |= {"score": entry.score, "max_score": entry.decided}
    if (status := student_view.status(entry.check)) is not None:
        test["status"] = status
    return test


def _leaderboard(report: Report) -> list[dict[str, Any]]:
    """Return the speedup of each timed kernel that counts."""
    return [
        {
            "name": student_view.safe_line(f"{kernel.name}: times as fast as torch"),
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
