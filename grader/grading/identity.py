"""Hashes of a submission and of its assignment, for a report's environment.

Reports from two machines may be merged only if both hashes agree. A report with the current hashes
is up to date.
"""

from __future__ import annotations

from grader.assignment.generated import STUBS_FILE
from grader.assignment.model import Assignment
from grader.assignment.reader import COURSE_FILE
from grader.submission.reader import Submission
from grader.system.cache import content_key

# The files that decide points. The handout is left out: it may be corrected at any time.
_DECISIVE_FILES = ("assignment.toml", "oracle.py", STUBS_FILE)


def identity(assignment: Assignment, submission: Submission) -> dict[str, str | int | float | None]:
    """Return both hashes under their keys in a report's environment."""
    return {"hand_in_hash": hand_in_hash(submission), "spec_hash": spec_hash(assignment)}


def hand_in_hash(submission: Submission) -> str:
    """Return a hash of the files that the assignment asks for, 40 hex digits.

    A folder and an archive with the same files have the same hash, whatever their name and their
    other files.
    """
    parts: list[str] = []
    for path, file in sorted(submission.files.items()):
        parts += [path, file.text, file.problem or ""]
    return content_key(*parts)


def spec_hash(assignment: Assignment) -> str:
    """Return a hash of the assignment's files that decide points, 40 hex digits."""
    parts: list[str | bytes] = [assignment.name]
    for name in (*_DECISIVE_FILES, *assignment.given):
        file = assignment.folder / name
        parts += [name, file.read_bytes() if file.is_file() else b""]
    course = assignment.folder.parent / COURSE_FILE
    if course.is_file():  # without one the hash is that of earlier versions
        parts += [COURSE_FILE, course.read_bytes()]
    return content_key(*parts)
