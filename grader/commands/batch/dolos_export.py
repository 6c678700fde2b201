"""Write a class's submissions as folders that Dolos, the similarity tool, reads.

    DIR/ASSIGNMENT/FILE/info.csv          filename, full_name, id, label
                        SUBMISSION/FILE   as handed in; untouched stubs are left out
                        stub-FILE         what all have in common, for Dolos to ignore

A folder for each kernel's file: Dolos compares files of one language with each other.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.assignment.generated import TEMPLATES
from grader.assignment.model import Assignment
from grader.commands.batch.submissions import ClassFolder, ClassSubmission
from grader.commands.output import write_text
from grader.errors import GraderError, UsageError
from grader.grading.plan import Options, make_plan
from grader.submission.reader import read_submission
from grader.vocabulary import Language

_HEAD = ("filename", "full_name", "id", "label")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """One folder: how many submissions it has, and the command that compares them."""

    folder: Path
    count: int
    command: str


def export(
    folder: ClassFolder, assignments: Sequence[Assignment], out: Path
) -> tuple[list[Exported], list[str]]:
    """Write the folders; return them, and a sentence for each submission that cannot be read.

    Raises UsageError if `out` has files, GraderError if it cannot be written.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(
            f"--export-for: {out} exists and is not overwritten", tip="name a new folder"
        )
    exported, unreadable = [], []
    for assignment in assignments:
        found: dict[tuple[str, Language], list[tuple[ClassSubmission, str]]] = {}
        for entry in folder.submissions:
            try:
                # Kernels of several entries share files.
                for path, language, text in dict.fromkeys(_files(entry, assignment)):
                    found.setdefault((path, language), []).append((entry, text))
            except GraderError as error:
                unreadable.append(f"{entry.name}: {error.message}")
        for (path, language), entries in sorted(found.items()):
            exported.append(_write(assignment, path, language, entries, out))
    return exported, unreadable


def _files(entry: ClassSubmission, assignment: Assignment) -> Iterator[tuple[str, Language, str]]:
    """Yield path, language and text of the files that were handed in and are no stubs."""
    submission = read_submission(entry.source, assignment)
    for file in make_plan(assignment, submission, Options()).files:
        own = set(file.kernel.paths)
        for source in (file.source, *file.source.headers):
            if source.problem is None and source.path in own:
                yield source.path, file.language, source.text


def _write(
    assignment: Assignment,
    path: str,
    language: Language,
    entries: Sequence[tuple[ClassSubmission, str]],
    out: Path,
) -> Exported:
    folder = out / assignment.name / Path(path).name
    table = io.StringIO()
    rows = csv.writer(table, lineterminator="\n")
    rows.writerow(_HEAD)
    for entry, text in entries:
        name = f"{entry.name}/{Path(path).name}"
        names = " and ".join(student.name for student in entry.students if student.name)
        ids = " ".join(student.sid for student in entry.students if student.sid)
        rows.writerow((name, names or entry.name, ids or entry.name, assignment.name))
        write_text(folder / name, text, parents=True)
    write_text(folder / "info.csv", table.getvalue(), parents=True)
    command = f"dolos run -l {language.syntax}"
    stub = assignment.folder.parent.parent / TEMPLATES / assignment.name / path
    if stub.is_file():
        text = stub.read_text(encoding="utf-8", errors="replace")
        write_text(folder / f"stub-{Path(path).name}", text, parents=True)
        command += f" -i stub-{Path(path).name}"
    return Exported(folder=folder, count=len(entries), command=f"{command} info.csv")
