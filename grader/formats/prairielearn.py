"""PrairieLearn's results.json, by its documentation of external grading.

A grader error and an empty submission are `gradable: false`: they use no attempt
and lose no points. PrairieLearn shows the points of tests only if every test has
points. So pending points are 0 of 0, which PrairieLearn shows as neutral.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grader.formats import student_view
from grader.formats.output_format import Extras, OutputFormat
from grader.formats.student_view import VisibleCheck
from grader.report.model import Report, json_text
from grader.report.verdict import Verdict

MOST_BYTES = 1_000_000  # PrairieLearn refuses larger results
_CAPS = (student_view.MOST_TEXT, 4_000, 1_000, 200)


class PrairieLearn(OutputFormat):
    """The file results.json of an external grader."""

    name = "prairielearn"
    budget_s = 25.0  # of 30 s

    def values(self, report: Report, extras: Extras) -> dict[str, Any]:
        """Return results.json."""
        if report.score is None:
            message = "The grader failed, which is not your fault: this attempt does not count."
            return {"gradable": False, "message": message, "format_errors": [message]}
        entries = tuple(student_view.checks(report))
        if report.verdict is Verdict.NOT_SUBMITTED:
            message = "Nothing was handed in."
            missing = [entry.text for entry in entries[:20]]
            return {"gradable": False, "message": message, "format_errors": missing or [message]}
        results: dict[str, Any] = {}
        for cap in _CAPS:  # shorten the output until all tests fit
            results = _results(report, report.score, entries, cap)
            if len(json_text(results).encode()) < MOST_BYTES:
                return results
        results["tests"] = []
        return results


def _results(
    report: Report, score: float, entries: Sequence[VisibleCheck], cap: int
) -> dict[str, Any]:
    return {
        "gradable": True,
        "score": min(1.0, max(0.0, score / report.max_score)) if report.max_score else 0.0,
        "message": student_view.result(report),
        "tests": [
            {
                "name": entry.name,
                "description": student_view.safe_line(entry.kernel.title),
                "points": entry.score or 0.0,
                "max_points": entry.decided,
                "message": entry.check.verdict.phrase,
                "output": student_view.safe(entry.text, cap),
            }
            for entry in entries
        ],
    }
