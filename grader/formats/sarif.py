"""SARIF: findings at their lines, for an editor or a code scanner."""

from __future__ import annotations

from typing import Any

from grader.formats import student_view
from grader.formats.annotations import Annotation, Kind, annotated
from grader.formats.output_format import Extras, OutputFormat
from grader.report.model import Report
from grader.report.verdict import Verdict
from grader.text.sarif import Level, SarifResult, sarif_log

_MOST_MESSAGE = 2_000
_LEVELS: dict[Kind, Level] = {"error": "error", "warning": "warning", "notice": "note"}


class Sarif(OutputFormat):
    """One run with a result for each annotation."""

    name = "sarif"

    def values(self, report: Report, extras: Extras) -> dict[str, Any]:
        """Return the log."""
        results = (_result(one, extras) for one in annotated(report))
        return sarif_log(results, successful=report.verdict is not Verdict.GRADER_ERROR)


def _result(one: Annotation, extras: Extras) -> SarifResult:
    return SarifResult(
        rule=one.rule,
        level=_LEVELS[one.kind],
        message=student_view.safe(one.message, _MOST_MESSAGE),
        path=None if one.file is None else _path(one.file, extras),
        line=one.line,
        column=one.column,
        other_line=one.other_line,
    )


def _path(file: str, extras: Extras) -> str:
    return extras.paths.get(file) or (f"{extras.folder}/{file}" if extras.folder else file)
