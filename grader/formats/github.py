"""GitHub's three outputs: annotations, the summary of a step, and Classroom's result.

    commands      `::error file=…,line=…::…` on standard output, at the student's lines
    summary       Markdown, appended to the file that GITHUB_STEP_SUMMARY names
    classroom     JSON; its base64 encoding is the step's output `result`

GitHub shows 10 errors, 10 warnings and 10 notices of a step and silently drops the
rest, so the most useful come first and no more are printed. GitHub refuses a summary
beyond 1024 KiB.
"""

from __future__ import annotations

import base64
import html
import json
import math
import os
import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grader.errors import GraderError
from grader.formats import student_view
from grader.formats.annotations import Annotation, Kind, annotated
from grader.formats.details import points_text
from grader.formats.evidence_tables import evidence_tables
from grader.formats.output_format import NO_EXTRAS, Extras, OutputFormat, terminal_text
from grader.formats.student_view import VisibleCheck
from grader.report.model import Report
from grader.report.verdict import Verdict

MOST_OF_A_KIND = 10
MOST_SUMMARY_BYTES = 1024 << 10
_MOST_MESSAGE = 2_000
_CLASSROOM_VERSION = 1
_EMPTY_TEST = {"message": "", "test_code": "", "filename": "", "line_no": 0, "duration": 0}
_CAPS = (student_view.MOST_TEXT, 4_000, 1_000, 0)
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-!|~@])")


class GitHub(OutputFormat):
    """Classroom's result, workflow commands on standard output, and the step's files."""

    name = "github"

    def values(self, report: Report, extras: Extras) -> dict[str, Any]:
        """Return Classroom's result.

        After a grader error the maximum score is 0, so that Classroom publishes no score.
        """
        complete = report.verdict.earns_points and report.handed_in == report.kernels_total
        status, max_score = "pass" if complete else "fail", report.max_score
        tests: list[dict[str, Any]] = [
            {
                "name": entry.name,
                "status": "pass" if student_view.status(entry.check) == "passed" else "fail",
                "score": entry.score or 0.0,
                "message": entry.text,
                "filename": student_view.safe_line(entry.kernel.file or ""),
                "duration": round(1000 * entry.check.wall_s),
            }
            for entry in student_view.checks(report)
            if entry.check.verdict is not Verdict.NOT_MEASURED
        ]
        if report.score is None:
            status, max_score = "error", 0.0
            message = "the grader failed, not your code: there is no score"
            tests = [{"name": report.assignment, "status": status, "score": 0, "message": message}]
        return {
            "version": _CLASSROOM_VERSION,
            "status": status,
            "max_score": math.ceil(max_score),  # Classroom accepts fractions in scores only
            "tests": [{**_EMPTY_TEST, **test} for test in tests],
        }

    def log(self, report: Report, extras: Extras = NO_EXTRAS) -> str:
        """Return report and annotations; append the summary and the step's output."""
        _append("GITHUB_STEP_SUMMARY", summary(report))
        result = base64.b64encode(json.dumps(self.values(report, extras)).encode()).decode()
        _append("GITHUB_OUTPUT", f"result={result}\n")
        # The report cannot contain this word, so it cannot end the part without commands.
        word = secrets.token_hex(16)
        guarded = f"::stop-commands::{word}\n{terminal_text(report, staff=False)}\n::{word}::"
        return "\n".join([guarded, *workflow_commands(report, extras.folder)]) + "\n"


def workflow_commands(report: Report, folder: str = "") -> list[str]:
    """Return workflow commands, most severe first, as many as GitHub shows.

    `folder` is the folder of the submission, relative to the repository.
    """
    found = dict.fromkeys((one.kind, _command(one, folder)) for one in annotated(report))
    shown: list[str] = []
    kinds: tuple[Kind, ...] = ("error", "warning", "notice")
    for kind in kinds:
        shown += [line for of_kind, line in found if of_kind == kind][:MOST_OF_A_KIND]
    return shown


def summary(report: Report) -> str:
    """Return the step's summary in Markdown, at most 1024 KiB."""
    entries = tuple(student_view.checks(report))
    text = ""
    for cap in _CAPS:
        text = _summary(report, entries, cap)
        if len(text.encode()) <= MOST_SUMMARY_BYTES:
            return text
    return text.encode()[:MOST_SUMMARY_BYTES].decode(errors="ignore")


def _summary(report: Report, entries: Sequence[VisibleCheck], cap: int) -> str:
    lines = [f"## {_markdown(report.title or report.assignment)}", ""]
    lines += [f"{_markdown(line)}\n" for line in student_view.result(report).split("\n")]
    lines += ["| check | verdict | points |", "|---|---|---|"]
    for entry in entries:
        won = points_text(entry.check) if entry.kernel.counted else ""
        lines.append(f"| {_markdown(entry.name)} | {entry.check.verdict.phrase} | {won} |")
    left_out = (Verdict.NOT_SUBMITTED, Verdict.SKIPPED, Verdict.NOT_MEASURED)
    undecided = [entry for entry in entries if entry.check.verdict in left_out]
    for entry in entries:
        if cap and not entry.check.verdict.earns_points and entry not in undecided:
            text = html.escape(student_view.safe(entry.text, cap))
            lines += ["", f"### {_markdown(entry.name)}", "", f"<pre>{text}</pre>"]
    if cap and undecided:
        lines += ["", "### Not graded", ""]
        for entry in undecided:
            text = student_view.safe(entry.text, cap)
            lines.append(f"* {_markdown(entry.name)}: {_markdown(text)}")
    for entry in entries:
        for table in evidence_tables(entry.check) if cap else ():
            lines += ["", f"**{_markdown(entry.name)}: {_markdown(table.caption)}**", ""]
            numbers = len(table.header) - table.text
            lines += [_row(table.header), f"|{'---|' * table.text}{'---:|' * numbers}"]
            lines += map(_row, table.rows)
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_markdown, cells))} |"


def _markdown(text: str) -> str:
    # Keep quotes: the next step would break `&#x27;`.
    plain = html.escape(student_view.safe_line(text, 1_000), quote=False)
    return _MARKDOWN.sub(r"\\\1", plain)


def _command(one: Annotation, folder: str) -> str:
    properties = {"title": student_view.safe_line(one.title)}
    if one.file is not None:
        properties["file"] = f"{folder}/{one.file}" if folder else one.file
        if one.line is not None:
            properties["line"] = str(one.line)
            if one.column is not None:
                properties["col"] = str(one.column)
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{one.kind} {listed}::{_data(student_view.safe(one.message, _MOST_MESSAGE))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(student_view.safe_line(text, 300)).replace(":", "%3A").replace(",", "%2C")


def _append(variable: str, text: str) -> None:
    """Append to the file that the environment variable names, if it is set."""
    name = os.environ.get(variable)
    if not name:
        return
    try:
        with Path(name).open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise GraderError(f"cannot write {variable}: {error.strerror or error}") from error
