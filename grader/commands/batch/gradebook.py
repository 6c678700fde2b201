"""The grade book as CSV, in the columns that Canvas or Gradescope know.

    canvas       Student, ID, SIS User ID, SIS Login ID, Section, a column for each assignment;
                 the second line has the points that can be won
    gradescope   Name, SID, Email, then for each assignment its score, most points, pending
                 points, status, and the submission's name

Whoever handed in together has a line each. A hand-in that was not graded has
no score: the cell is empty, never zero.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grader.assignment.model import Assignment
from grader.commands.batch.gradescope_export import Student
from grader.commands.batch.store import Store
from grader.commands.batch.submissions import Class, Place
from grader.errors import GraderError
from grader.report.model import write_whole

COLUMNS = ("gradescope", "canvas")
# A spreadsheet takes a cell that begins with one of these for a formula, and names are
# what students typed.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_gradebook(
    path: Path, columns: str, store: Store, found: Class, assignments: Sequence[Assignment]
) -> None:
    """Write the file. Raises GraderError if it cannot be stored."""
    rows = _canvas if columns == "canvas" else _gradescope
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        [[_cell(value) for value in row] for row in rows(store, found, assignments)]
    )
    try:
        write_whole(path, text.getvalue().encode(errors="replace").decode())
    except OSError as error:
        raise GraderError(
            f"cannot write {path}: {error.strerror or error}",
            tip="give the same command again with another --csv: nothing is graded twice",
        ) from error


def _people(found: Class) -> list[tuple[Place, Student]]:
    return [
        (place, student)
        for place in found.places
        for student in place.students or (Student(name=place.name),)
    ]


def _canvas(store: Store, found: Class, assignments: Sequence[Assignment]) -> list[list[object]]:
    titles = [assignment.title for assignment in assignments]
    most = [sum(part.max_score for part in assignment.parts) for assignment in assignments]
    rows: list[list[object]] = [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *titles],
        ["Points Possible", "", "", "", "", *most],
    ]
    for place, student in _people(found):
        scores = [_graded(store, a, place) for a in assignments]
        rows.append(
            [student.name, "", student.sid, student.email, ""]
            + [None if report is None else report["score"] for report in scores]
        )
    return rows


def _gradescope(
    store: Store, found: Class, assignments: Sequence[Assignment]
) -> list[list[object]]:
    header: list[object] = ["Name", "SID", "Email", "Submission ID"]
    for assignment in assignments:
        name = assignment.name
        header += [name, f"{name} - Max Points", f"{name} - Pending", f"{name} - Status"]
    rows = [header]
    for place, student in _people(found):
        row: list[object] = [student.name, student.sid, student.email, place.name]
        for assignment in assignments:
            report = _graded(store, assignment, place)
            if report is None:
                row += [None, sum(part.max_score for part in assignment.parts), None, "Ungraded"]
            else:
                missing = report["verdict"] == "not_submitted"
                status = "Missing" if missing else "Graded"
                row += [report["score"], report["max_score"], report["pending"], status]
        rows.append(row)
    return rows


def _graded(store: Store, assignment: Assignment, place: Place) -> dict[str, Any] | None:
    if store.failure(assignment.name, place.name):
        return None
    return store.report(assignment.name, place.name)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, (int, float)):
        return f"{value:g}"
    text = str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
