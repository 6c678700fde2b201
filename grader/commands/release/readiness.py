"""What must be right before an assignment is given away, and what is only told.

refused   stubs, header, fingerprints or the handout's tiers that are not as made anew:
          an untouched stub would be judged as work, or a solution not fit its stub
told      a handout that is missing or does not name the files, and places that
          `grade new` left to the instructor, in what students get
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from grader.assignment.generated import REFERENCES, TEMPLATES, generated_for
from grader.assignment.model import Assignment
from grader.commands.verify.lints import FILL_IN, handout, unfilled
from grader.errors import UsageError


def refuse_outdated(
    assignments: Iterable[Assignment], repository: Path, *, with_stubs: bool
) -> None:
    """Raise UsageError if a file that follows from another, and is given away, is not current.

    Without any solved file or stub nothing can be said about fingerprints.
    """
    for assignment in assignments:
        if not any(
            (repository / tree / assignment.name).is_dir() for tree in (REFERENCES, TEMPLATES)
        ):
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
