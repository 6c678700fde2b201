"""Write a class's submissions as folders that Dolos, the similarity tool, reads.

    DIR/ASSIGNMENT/FILE/info.csv          filename, full_name, id, label, ignored
                        SUBMISSION/FILE   as handed in; untouched stubs are left out
                        stub-FILE         what all have in common, for Dolos to ignore

A folder for each kernel's file: Dolos compares files of one language with each other. Of a
language that is translated the translation is compared: to Dolos CUDA source in a Python string is
one token, so that all files of inline CUDA would be alike.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.assignment.generated import TEMPLATES
from grader.assignment.model import Assignment, Kernel
from grader.build.artifact import Rejected
from grader.commands.batch.submissions import ClassFolder, ClassSubmission
from grader.commands.output import write_text
from grader.errors import GraderError, UsageError
from grader.grading.plan import Options, make_plan
from grader.languages.cuda_cpp import TranslatedToCuda
from grader.languages.registry import support_of
from grader.submission.reader import SourceFile, read_submission
from grader.vocabulary import Language

_HEAD = ("filename", "full_name", "id", "label", "ignored")
_FEWEST = 2  # Dolos refuses a single file


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """One folder: how many submissions it has, and the command that compares them, "" for one."""

    folder: Path
    count: int
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """A file of a submission, of which Dolos compares `text`."""

    path: str
    kernel: Kernel
    language: Language
    text: str


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
        found: dict[str, list[tuple[ClassSubmission, _File]]] = {}
        for entry in folder.submissions:
            try:
                # Kernels of several entries share files.
                for file in {file.path: file for file in _files(entry, assignment)}.values():
                    found.setdefault(file.path, []).append((entry, file))
            except GraderError as error:
                unreadable.append(f"{entry.name}: {error.message}")
        exported += [_write(assignment, entries, out) for _, entries in sorted(found.items())]
    return exported, unreadable


def _files(entry: ClassSubmission, assignment: Assignment) -> Iterator[_File]:
    """Yield the files that were handed in and are no stubs."""
    submission = read_submission(entry.source, assignment)
    for file in make_plan(assignment, submission, Options()).files:
        own = set(file.kernel.paths)
        for source in (file.source, *file.source.headers):
            if source.problem is None and source.path in own:
                text = _compared(assignment.of(file.kernel), file.language, source)
                yield _File(path=source.path, kernel=file.kernel, language=file.language, text=text)


def _compared(assignment: Assignment, language: Language, source: SourceFile) -> str:
    """Return the translation of a file that is translated into CUDA C++, else its text."""
    support = support_of(language)
    if isinstance(support, TranslatedToCuda):
        translated = support.translate(assignment, source)
        if not isinstance(translated, Rejected):
            return translated.text
    return source.text


def _write(
    assignment: Assignment, entries: Sequence[tuple[ClassSubmission, _File]], out: Path
) -> Exported:
    first = entries[0][1]
    file = Path(first.path).name
    folder = out / assignment.name / file
    table = io.StringIO()
    rows = csv.writer(table, lineterminator="\n")
    rows.writerow(_HEAD)
    for entry, one in entries:
        names = " and ".join(student.name for student in entry.students if student.name)
        ids = " ".join(student.sid for student in entry.students if student.sid)
        name = f"{entry.name}/{file}"
        rows.writerow((name, names or entry.name, ids or entry.name, assignment.name, ""))
        write_text(folder / name, one.text, parents=True)
    command = f"dolos run -l {first.language.base.syntax}"
    stub = assignment.folder.parent.parent / TEMPLATES / assignment.name / first.path
    if stub.is_file():
        text = stub.read_text(encoding="utf-8", errors="replace")
        source = SourceFile(path=first.path, text=text)
        text = _compared(assignment.of(first.kernel), first.language, source)
        write_text(folder / f"stub-{file}", text, parents=True)
        rows.writerow((f"stub-{file}", "", "", assignment.name, "true"))
        command += f" -i stub-{file}"
    write_text(folder / "info.csv", table.getvalue(), parents=True)
    command = f"{command} info.csv" if len(entries) >= _FEWEST else ""
    return Exported(folder=folder, count=len(entries), command=command)
