"""Checks of a release: what stops it, and what only warns.

stops     a line of a solution in an archive; stubs, header, fingerprints or the
          handout's tiers that are out of date: an untouched stub would be judged
          as work, or a solution would not fit its stub
warns     a handout that is missing or does not name the files, and places that
          `grade new` left to the instructor, in files that students get
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from grader.assignment.generated import REFERENCES, TEMPLATES, generated_for, stub_text
from grader.assignment.model import Assignment
from grader.commands.release.pack import Entry
from grader.commands.verify.lints import FILL_IN, handout, unfilled
from grader.errors import GraderError, UsageError

_KERNEL_FILES = {".cu", ".py"}
# Shorter lines are braces and the like.
_LEAST_CHARACTERS = 12


def refuse_outdated(
    assignments: Iterable[Assignment], repository: Path, *, with_stubs: bool
) -> None:
    """Raise UsageError if a generated file that is given away is out of date.

    Without any solved file or stub the fingerprints cannot be checked.
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
                problem = f"{path} is not current: the spec or a solved file has changed since"
            else:
                continue
            raise UsageError(
                problem, tip=f"make it anew: python -m grader.assignment.generated {repository}"
            )


def not_ready(assignments: Iterable[Assignment], repository: Path) -> Iterator[str]:
    """Yield a sentence for each thing that students would miss, or should not read."""
    for assignment in assignments:
        for _, sentence in handout(assignment, repository / REFERENCES / assignment.name):
            yield sentence
        stubs = repository / TEMPLATES / assignment.name
        files = [path for part in assignment.parts for path in part.files.values()]
        given = (*sorted(assignment.folder.iterdir()), *(stubs / file for file in files))
        for path in unfilled(given):
            yield f"{path} still says {FILL_IN}: students get it so"


def refuse_solutions(
    entries: Sequence[Entry], assignments: Iterable[Assignment], repository: Path
) -> None:
    """Raise GraderError if a file of an assignment holds a line that only the solution has."""
    for assignment in assignments:
        solved = _solved_lines(repository / REFERENCES / assignment.name)
        for entry in entries:
            if f"/{assignment.name}/" not in f"/{entry.path}":
                continue
            lines = {line.strip() for line in entry.data.decode("utf-8", "replace").splitlines()}
            if lines & solved:
                raise GraderError(
                    f"{entry.path} would give a solution away: `{min(lines & solved)}`",
                    tip="is a solved file in student_template/? "
                    "python -m grader.assignment.generated",
                )


def _solved_lines(reference: Path) -> set[str]:
    """Return the lines that only an assignment's solved files have, not their stubs.

    Empty if there is no folder. Raises GraderError if a file's marks do not pair.
    """
    solved: set[str] = set()
    given: set[str] = set()
    for path in sorted(reference.rglob("*")):
        sample = path.relative_to(reference).parts[0] == "samples"
        if sample or path.suffix not in _KERNEL_FILES or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        try:
            given |= {line.strip() for line in stub_text(text).splitlines()}
        except ValueError as error:
            raise GraderError(f"{path}: {error}") from None
        solved |= {line.strip() for line in text.splitlines()}
    return {line for line in solved - given if len(line) >= _LEAST_CHARACTERS}
