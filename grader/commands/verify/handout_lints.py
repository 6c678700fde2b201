"""What a handout lacks, and stubs that belong to nothing: what students would stumble over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from grader.assignment.generated import TEMPLATES
from grader.assignment.handout import HANDOUT
from grader.assignment.model import PROGRAM_FILE, Assignment
from grader.commands.verify.row import State

FILL_IN = "FILL IN"  # what `grade new` leaves to the instructor
_STUBS = {".cu", ".py", ".h"}


def handout(assignment: Assignment, _: Path) -> Iterator[tuple[State, str]]:
    """No handout, or one that does not name what is to be written."""
    file = assignment.folder / HANDOUT
    if not file.is_file():
        yield State.WARNING, f"there is no {file}: students are not told what the kernel computes"
        return
    text = file.read_text(encoding="utf-8", errors="replace")
    wanted = [path for part in assignment.parts for path in part.files.values()]
    # A table may give a rung's name once for both languages.
    missing = [path for path in wanted if Path(path).stem not in text]
    missing += [assignment.signature.entry] * (assignment.signature.entry not in text)
    if missing:
        yield State.WARNING, f"{file} does not name {', '.join(missing)}"


def stray_stubs(assignment: Assignment, reference: Path) -> Iterator[tuple[State, str]]:
    """Files among the stubs that are no kernel's, as after one has been renamed."""
    template = reference.parent.parent / TEMPLATES / assignment.name
    names = {path for kernel in assignment.kernels for path in kernel.files.values()}
    names |= {PROGRAM_FILE, assignment.signature.header_name}
    for path in sorted(template.rglob("*")):
        name = path.relative_to(template).as_posix()
        if path.suffix in _STUBS and path.is_file() and name not in names:
            yield State.WARNING, f"{path} is no kernel's file: delete it"


def unfilled(files: Iterator[Path]) -> Iterator[Path]:
    """Yield the files in which something is left to the instructor."""
    for path in files:
        if path.is_file() and FILL_IN in path.read_text(encoding="utf-8", errors="replace"):
            yield path
