"""The submissions in a class's folder, and their students.

    submission_metadata.yml beside folders     an export of Gradescope
    NAME-submissions/NAME-USER/…               clones of GitHub Classroom
    anything else                              a folder or an archive for each submission

Staff made the folder; students made the content of each submission, which only
`grader.submission.reader` reads. Links are not followed, but reported.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from grader.assignment.model import Assignment
from grader.commands.batch.gradescope_export import METADATA, Student, read_metadata
from grader.commands.batch.store import holds_reports
from grader.errors import UsageError
from grader.submission.archive import ENDINGS
from grader.submission.reader import own_folder

_CLONES = "-submissions"
# A file name has at most 255 bytes. A report's name adds an ending and, while the report is
# being written, a random part.
_MOST_NAME_BYTES = 200
_NUMBERED = re.compile(r"(?P<stem>.+)[-_. ](?P<number>\d{1,18})", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassSubmission:
    """A submission's folder or archive; its report has the same `name`."""

    name: str
    source: Path
    students: tuple[Student, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassFolder:
    """All submissions, sorted by name, and a sentence for each entry that is not one."""

    folder: Path
    submissions: tuple[ClassSubmission, ...]
    passed_over: tuple[str, ...] = ()


def find_submissions(folder: Path, out: Path | None = None) -> ClassFolder:
    """Return the submissions in a folder; `out`, the folder for reports, is not one of them.

    Raises UsageError if there are none, or if `out` is `folder` itself or inside a submission.
    """
    if not folder.is_dir():
        tip = "unpack it first" if folder.is_file() else None
        raise UsageError(f"there is no folder {folder}", tip=tip)
    output = None if out is None else _output_name(folder, out)
    metadata = folder / METADATA
    students = read_metadata(metadata) if metadata.is_file() else {}
    submissions: dict[str, ClassSubmission] = {}
    passed_over: list[str] = []
    for entry in sorted(folder.iterdir()):
        name = _name(entry, folder)
        if name is None:
            continue
        problem = "the folder of --out" if entry.name == output else _problem(entry)
        if problem:
            passed_over.append(f"{entry.name}: {problem}")
        elif name in submissions:
            raise UsageError(
                f"{submissions[name].source} and {entry} give the same name, {name}",
                tip="remove one of them, or rename it",
            )
        else:
            submissions[name] = ClassSubmission(
                name=name, source=entry, students=students.get(entry.name, ())
            )
    absent = students.keys() - {submission.source.name for submission in submissions.values()}
    passed_over += [f"{name}: {METADATA} names it, but it is not here" for name in sorted(absent)]
    if not submissions:
        raise UsageError(f"there are no submissions in {folder}", tip=_other_folder(folder))
    return ClassFolder(
        folder=folder,
        submissions=tuple(submissions[name] for name in sorted(submissions)),
        passed_over=tuple(passed_over),
    )


def latest_only(folder: ClassFolder) -> ClassFolder:
    """Return the folder with the last submission of each student; the others are passed over.

    Submissions of the same students, by Gradescope's metadata, or with names that differ only in a
    last number behind `-`, `_`, `.` or a blank: the largest number is the last one.
    """
    last: dict[object, ClassSubmission] = {}
    earlier: list[ClassSubmission] = []
    for submission in sorted(folder.submissions, key=lambda one: _numbered(one.name)[1]):
        owner: object = frozenset(submission.students) or _numbered(submission.name)[0]
        if owner in last:
            earlier.append(last[owner])
        last[owner] = submission
    kept = {submission.name for submission in last.values()}
    return replace(
        folder,
        submissions=tuple(one for one in folder.submissions if one.name in kept),
        passed_over=(
            *folder.passed_over,
            *(f"{one.name}: a later submission is graded" for one in earlier),
        ),
    )


def _numbered(name: str) -> tuple[str, int]:
    """Return a name without its last number, and the number; -1 if it ends in none."""
    match = _NUMBERED.fullmatch(name)
    return (match["stem"], int(match["number"])) if match else (name, -1)


def submitted_assignments(folder: ClassFolder, assignments: list[Assignment]) -> list[Assignment]:
    """Return the assignments for which a submission has a folder.

    Raises UsageError if there is none: a single file can belong to several.
    """
    submitted = [
        assignment
        for assignment in assignments
        if any(own_folder(each.source, assignment.name) for each in folder.submissions)
    ]
    if not submitted:
        known = ", ".join(assignment.name for assignment in assignments)
        raise UsageError(
            f"no submission in {folder.folder} has a folder that is named like an assignment",
            tip=f"name the assignment on the command line: {known}",
        )
    return submitted


def _output_name(folder: Path, out: Path) -> str | None:
    """Return the name of the output folder if it is beside the submissions.

    Raises UsageError if it is their folder, or inside one of them.
    """
    try:
        parts = out.resolve().relative_to(folder.resolve()).parts
    except (ValueError, OSError, RuntimeError):  # elsewhere; `open_store` reports a loop of links
        return None
    if len(parts) == 1:
        return parts[0]
    where = f"in the submission {folder / parts[0]}" if parts else "the folder of the submissions"
    raise UsageError(
        f"--out: {out} is {where}: the next run would take reports for submissions",
        tip=f"name a folder elsewhere, such as {folder.resolve().name}-graded",
    )


def _name(entry: Path, folder: Path) -> str | None:
    """Return a submission's name; None for a file of the operating system or an editor."""
    name = entry.name
    if name in (METADATA, "__MACOSX", ".git") or name.startswith("._"):
        return None
    if name.startswith(".") and not _may_be_a_submission(entry):
        return None
    if not entry.is_dir():
        ending = next((end for end in ENDINGS if name.lower().endswith(end)), "")
        name = name[: len(name) - len(ending)] or name
    if folder.name.endswith(_CLONES):
        name = name.removeprefix(folder.name.removesuffix(_CLONES) + "-") or name
    return name


def _may_be_a_submission(entry: Path) -> bool:
    return entry.is_dir() or entry.name.lower().endswith(ENDINGS)


def _problem(entry: Path) -> str | None:
    """Return why the entry cannot be graded; None if it can."""
    if entry.name.startswith("."):
        return "hidden, because its name begins with a dot; rename it if it is a submission"
    if entry.is_symlink():
        return "a link is not followed; put the folder itself here"
    if len(entry.name.encode(errors="surrogateescape")) > _MOST_NAME_BYTES:
        return f"its name is longer than {_MOST_NAME_BYTES} bytes; rename it"
    if not _may_be_a_submission(entry):
        return "neither a folder nor an archive (zip or tar)"
    if holds_reports(entry):
        return "the reports of an earlier run"
    return None


def _other_folder(folder: Path) -> str:
    exports = [entry for entry in folder.glob(f"*/{METADATA}") if entry.is_file()]
    if exports:
        return f"name the export itself: {exports[0].parent}"
    return "name the folder that holds a folder or an archive for each student"
