"""The grade book as CSV, with the columns of Canvas or Gradescope.

    canvas       Student, ID, SIS User ID, SIS Login ID, Section, a column for each assignment;
                 the second line has the maximum points
    gradescope   Name, SID, Email, Submission ID, then for each assignment its score, maximum
                 points, pending points and status

Each student of a group has a line. A submission that was not graded has an empty
score, never zero.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.assignment.model import Assignment
from grader.commands.batch.gradescope_export import Student
from grader.commands.batch.store import Store
from grader.commands.batch.submissions import ClassFolder, ClassSubmission
from grader.commands.output import write_text

# Spreadsheets take a cell that begins with one of these for a formula; students chose the names.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_gradebook(
    path: Path,
    columns: str,
    store: Store,
    folder: ClassFolder,
    assignments: Sequence[Assignment],
) -> None:
    """Write the file; `columns` is canvas or gradescope. Raises GraderError."""
    rows = _canvas if columns == "canvas" else _gradescope
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        map(_cell, row) for row in rows(store, folder, assignments)
    )
    tip = "run the same command again with another --csv: nothing is graded twice"
    write_text(path, text.getvalue().encode(errors="replace").decode(), tip=tip)


def _students(folder: ClassFolder) -> Iterator[tuple[ClassSubmission, Student]]:
    for submission in folder.submissions:
        for student in submission.students or (Student(name=submission.name),):
            yield submission, student


def _max_points(assignment: Assignment) -> float:
    return sum(part.max_score for part in assignment.parts)


def _canvas(
    store: Store, folder: ClassFolder, assignments: Sequence[Assignment]
) -> Iterator[list[object]]:
    titles = [assignment.title for assignment in assignments]
    yield ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *titles]
    yield ["Points Possible", "", "", "", "", *map(_max_points, assignments)]
    for submission, student in _students(folder):
        reports = [store.graded(a.name, submission.name) for a in assignments]
        scores = [None if report is None else report["score"] for report in reports]
        yield [student.name, "", student.sid, student.email, "", *scores]


def _gradescope(
    store: Store, folder: ClassFolder, assignments: Sequence[Assignment]
) -> Iterator[list[object]]:
    header: list[object] = ["Name", "SID", "Email", "Submission ID"]
    for name in (assignment.name for assignment in assignments):
        header += [name, f"{name} - Max Points", f"{name} - Pending", f"{name} - Status"]
    yield header
    for submission, student in _students(folder):
        row: list[object] = [student.name, student.sid, student.email, submission.name]
        for assignment in assignments:
            report = store.graded(assignment.name, submission.name)
            if report is None:
                row += [None, _max_points(assignment), None, "Ungraded"]
            else:
                status = "Missing" if report["verdict"] == "not_submitted" else "Graded"
                row += [report["score"], report["max_score"], report["pending"], status]
        yield row


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, (int, float)):
        return f"{value:g}"
    text = str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
