"""Checks before a release.

errors      a line of a solution in an archive; outdated stubs, header, fingerprints or
            tiers in the handout: an untouched stub would be graded as a submission, or a
            solution would not fit its stub
warnings    a handout that is missing or does not name the files; FILL IN marks of
            `grade new` in files that students get
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from grader.assignment.generated import REFERENCES, TEMPLATES, generated_for, stub_text
from grader.assignment.handout import HANDOUT
from grader.assignment.model import Assignment
from grader.commands.release.pack import Entry
from grader.commands.verify.lints import FILL_IN, handout, unfilled
from grader.errors import GraderError, UsageError
from grader.vocabulary import Language

_LEAST_CHARACTERS = 12  # shorter lines, such as braces, prove nothing


def refuse_outdated(
    assignments: Iterable[Assignment], repository: Path, *, with_stubs: bool
) -> None:
    """Raise UsageError if a generated file of the release is out of date.

    Assignments without solved files and stubs are not checked.
    """
    for assignment in assignments:
        trees = [repository / tree / assignment.name for tree in (REFERENCES, TEMPLATES)]
        if not any(tree.is_dir() for tree in trees):
            continue
        for path, text in generated_for(assignment, repository):
            if not with_stubs and path.parent != assignment.folder:
                continue
            if not path.is_file():
                problem = f"there is no {path}"
            elif path.read_text(encoding="utf-8", errors="replace") != text:
                problem = f"{path} is out of date: the spec or a solved file has changed since"
            else:
                continue
            raise UsageError(
                problem, tip=f"update it: python -m grader.assignment.generated {repository}"
            )


def not_ready(
    assignments: Iterable[Assignment], repository: Path, *, with_specs: bool
) -> Iterator[str]:
    """Yield a sentence for each problem in the files that students get.

    They get handouts and stubs, and `with_specs` all of an assignment's folder.
    """
    for assignment in assignments:
        for _, sentence in handout(assignment, repository / REFERENCES / assignment.name):
            yield sentence
        stubs = repository / TEMPLATES / assignment.name
        folder = assignment.folder
        given = (
            *(sorted(folder.iterdir()) if with_specs else [folder / HANDOUT]),
            *(stubs / file for file in assignment.paths),
        )
        for path in unfilled(given):
            yield f"{path} still has {FILL_IN} marks, and students get this file"


def refuse_solutions(
    entries: Sequence[Entry], assignments: Iterable[Assignment], repository: Path
) -> None:
    """Raise GraderError if an assignment's file has a line that only the solution has."""
    for assignment in assignments:
        solved = _solved_lines(repository / REFERENCES / assignment.name)
        for entry in entries:
            if f"/{assignment.name}/" not in f"/{entry.path}":
                continue
            lines = {line.strip() for line in entry.data.decode("utf-8", "replace").splitlines()}
            if lines & solved:
                raise GraderError(
                    f"{entry.path} has a line of the solution: `{min(lines & solved)}`",
                    tip="if it is a solved file in student_template/, run "
                    "python -m grader.assignment.generated",
                )


def _solved_lines(reference: Path) -> set[str]:
    """Return the lines of an assignment's solved files that their stubs do not have.

    Raises GraderError if a file's TODO and end marks do not pair.
    """
    solved: set[str] = set()
    given: set[str] = set()
    for path in sorted(reference.rglob("*")):
        sample = path.relative_to(reference).parts[0] == "samples"
        if sample or path.suffix not in Language.endings() or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        try:
            given |= {line.strip() for line in stub_text(text).splitlines()}
        except ValueError as error:
            raise GraderError(f"{path}: {error}") from None
        solved |= {line.strip() for line in text.splitlines()}
    return {line for line in solved - given if len(line) >= _LEAST_CHARACTERS}
