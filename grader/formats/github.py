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
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from grader.errors import GraderError
from grader.formats import student_view
from grader.formats.output_format import NO_EXTRAS, Extras, OutputFormat, terminal_text
from grader.formats.student_view import VisibleCheck
from grader.report.evidence import BuildEvidence, CountersEvidence, Finding, MemoryEvidence
from grader.report.model import CheckResult, KernelResult, Report
from grader.report.verdict import Verdict
from grader.text.numbers import points
from grader.vocabulary import Visibility

MOST_OF_A_KIND = 10
MOST_SUMMARY_BYTES = 1024 << 10
_MOST_MESSAGE = 2_000
_CLASSROOM_VERSION = 1
_EMPTY_TEST = {"message": "", "test_code": "", "filename": "", "line_no": 0, "duration": 0}
_CAPS = (student_view.MOST_TEXT, 4_000, 1_000, 0)
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-!|~@])")

Kind = Literal["error", "warning", "notice"]
Annotation = tuple[Kind, str]  # the kind, and the command that contains it


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
    annotations = list(dict.fromkeys(_all_annotations(report, folder)))
    shown: list[str] = []
    kinds: tuple[Kind, ...] = ("error", "warning", "notice")
    for kind in kinds:
        shown += [line for found, line in annotations if found == kind][:MOST_OF_A_KIND]
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
        won = _points(entry.check) if entry.kernel.counted else ""
        lines.append(f"| {_markdown(entry.name)} | {entry.check.verdict.phrase} | {won} |")
    for entry in entries:
        if cap and not entry.check.verdict.earns_points:
            text = html.escape(student_view.safe(entry.text, cap))
            lines += ["", f"### {_markdown(entry.name)}", "", f"<pre>{text}</pre>"]
    return "\n".join(lines) + "\n"


def _points(check: CheckResult) -> str:
    if not check.max_score:
        return ""
    if check.score is None:
        return "no score"
    won = f"{points(check.score)} / {points(check.max_score)}"
    return f"{won}, {points(check.pending)} pending" if check.pending else won


def _markdown(text: str) -> str:
    # Keep quotes: the next step would break `&#x27;`.
    plain = html.escape(student_view.safe_line(text, 1_000), quote=False)
    return _MARKDOWN.sub(r"\\\1", plain)


def _all_annotations(report: Report, folder: str) -> Iterator[Annotation]:
    for kernel in report.kernels:
        for check in kernel.checks:
            placed = list(_evidence_annotations(check, folder)) if _visible(check) else []
            yield from placed
            if student_view.failed(check) and not any(kind == "error" for kind, _ in placed):
                yield _command(
                    "error", _title(kernel, check), _sentence(check), kernel.file, folder
                )
            elif check.verdict is Verdict.GRADER_ERROR:
                yield _command("warning", _title(kernel, check), _sentence(check), None, folder)
    if report.pending:
        yield _command("notice", "points pending", student_view.pending(report), None, folder)


def _visible(check: CheckResult) -> bool:
    return check.visibility is Visibility.VISIBLE


def _evidence_annotations(check: CheckResult, folder: str) -> Iterator[Annotation]:
    evidence = check.evidence
    if isinstance(evidence, BuildEvidence):
        for diagnostic in sorted(evidence.diagnostics, key=lambda one: one.severity != "error"):
            yield _command(
                diagnostic.severity,
                "build",
                diagnostic.message,
                diagnostic.file,
                folder,
                diagnostic.line,
                diagnostic.column,
            )
    elif isinstance(evidence, MemoryEvidence):
        for found in evidence.findings:
            yield _finding(found, folder)
    elif isinstance(evidence, CountersEvidence) and student_view.failed(check) and evidence.lines:
        line = evidence.lines[0]
        yield _command("error", "counters", check.message, line.file, folder, line.line)


def _finding(found: Finding, folder: str) -> Annotation:
    message = f"{found.message}\n{found.hint}" if found.hint else found.message
    kind = found.kind.replace("_", " ")
    return _command(found.severity, f"memory: {kind}", message, found.file, folder, found.line)


def _sentence(check: CheckResult) -> str:
    """Return verdict, message and hint; the details are in the log and the summary."""
    if not _visible(check):
        return student_view.visible_text(check)
    return f"{check.verdict.phrase}: {check.message}" + (f"\n{check.hint}" if check.hint else "")


def _title(kernel: KernelResult, check: CheckResult) -> str:
    return f"{student_view.label(kernel)}: {check.name}"


def _command(
    kind: Kind,
    title: str,
    message: str,
    file: str | None,
    folder: str,
    line: int | None = None,
    column: int | None = None,
) -> Annotation:
    properties = {"title": student_view.safe_line(title)}
    if file is not None:
        properties["file"] = f"{folder}/{file}" if folder else file
        if line is not None:
            properties["line"] = str(line)
            if column is not None:
                properties["col"] = str(column)
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return kind, f"::{kind} {listed}::{_data(student_view.safe(message, _MOST_MESSAGE))}"


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
