"""Which hand-in was graded, and by which spec: two hashes for a report's environment.

Reports of one hand-in, made on two machines, may be merged only if both hashes
agree; a report whose hashes are those of now need not be made again.
"""

from __future__ import annotations

from grader.assignment.generated import STUBS_FILE
from grader.assignment.model import Assignment
from grader.submission.reader import Submission
from grader.system.cache import content_key

# What decides points. The handout beside them may be corrected at any time.
_DECIDING = ("assignment.toml", "oracle.py", STUBS_FILE)


def identity(assignment: Assignment, submission: Submission) -> dict[str, str | int | float | None]:
    """Return the two keys as the environment of a report holds them."""
    return {"hand_in_hash": hand_in_hash(submission), "spec_hash": spec_hash(assignment)}


def hand_in_hash(submission: Submission) -> str:
    """Return 40 hex digits for the files that the assignment asks for.

    A folder and an archive with the same files have the same hash; other files
    there make no difference, nor does the name of the folder.
    """
    parts: list[str] = []
    for path, file in sorted(submission.files.items()):
        parts += [path, file.text, file.problem or ""]
    return content_key(*parts)


def spec_hash(assignment: Assignment) -> str:
    """Return 40 hex digits for all of the assignment's folder that decides points."""
    parts: list[str | bytes] = [assignment.name]
    for name in _DECIDING:
        file = assignment.folder / name
        parts += [name, file.read_bytes() if file.is_file() else b""]
    return content_key(*parts)
