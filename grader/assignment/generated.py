"""Generates stubs, their fingerprints, headers and handout tables from other files.

A stub is the solved file without the code between `TODO(student)` and `end`. The
fingerprints (`stubs.json`) identify untouched stubs, so that grading needs neither
`student_template/` nor `reference/`. They ignore changes that editors make on saving: a
student who only opened and saved a stub has submitted nothing.

    reference/NAME/FILE ──stub──→ student_template/NAME/FILE ──→ assignments/NAME/stubs.json
    assignments/NAME/assignment.toml ──signature──→ student_template/NAME/ENTRY.h
                                     ──handout────→ assignments/NAME/README.md, its tables
    assignments/NAME/GIVEN ──copy──→ student_template/NAME/GIVEN

`python -m grader.assignment.generated [COURSE]` writes the files on the right; without
COURSE it uses the course of the current folder. A test keeps them current.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from grader.assignment.calibration import calibrations
from grader.assignment.catalogue import ASSIGNMENTS, course_root, find_assignments
from grader.assignment.dialects import may_include
from grader.assignment.handout import HANDOUT, with_tables
from grader.assignment.model import PROGRAM_FILE, Assignment
from grader.assignment.reader import read_assignment, read_text
from grader.errors import GraderError, SpecError, UsageError

STUBS_FILE = "stubs.json"
TEMPLATES = "student_template"
REFERENCES = "reference"

_OPEN = re.compile(r"\s*(?://|#) TODO\(student\)")
_CLOSE = re.compile(r"\s*(?://|#) end\s*$")
_BLOCK = re.compile(r"[^#]*:\s*(?:#.*)?$")  # a line of Python after which a block begins
_COMMENT = re.compile(r"\s*(?://|#(?!\s*(?:include|define|if|endif|pragma|else|undef)\b))")


def stub_text(solved: str) -> str:
    """Return the stub of a solved file; ValueError if a mark has no partner.

    The stub keeps the marks and, between them, lines with only a comment. So a comment
    that reveals the solution must be behind code, on the same line. A function in Python
    whose whole body is between the marks gets `pass`, without which the stub is no Python.
    """
    kept: list[str] = []
    opened_at: int | None = None
    code, empty = "", False
    for number, line in enumerate(solved.splitlines(keepends=True), start=1):
        if _OPEN.match(line):
            if opened_at is not None:
                mark = line.split()[0]
                raise ValueError(
                    f"line {opened_at}: TODO(student) without an `end` before the TODO of line "
                    f"{number}: add `{mark} end`"
                )
            opened_at, empty = number, line.lstrip().startswith("#") and bool(_BLOCK.match(code))
        elif _CLOSE.match(line):
            if opened_at is None:
                raise ValueError(f"line {number}: `end` without a TODO(student) before it")
            opened_at = None
            if empty:
                kept.append(line[: len(line) - len(line.lstrip())] + "pass\n")
        elif opened_at is not None and not _COMMENT.match(line):
            continue
        elif line.strip() and not _COMMENT.match(line):
            code = line
        kept.append(line)
    if opened_at is not None:
        raise ValueError(f"line {opened_at}: TODO(student) without an `end` below it: add it")
    return "".join(kept)


def fingerprint(text: str) -> str:
    """Return 40 hex digits that identify a text.

    Line ends, trailing whitespace, blank lines and a byte-order mark make no difference;
    indentation does.
    """
    lines = (line.rstrip() for line in text.removeprefix("\ufeff").splitlines())
    plain = "\n".join(line for line in lines if line)
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def read_stubs(folder: Path) -> Mapping[str, str]:
    """Return the fingerprints of an assignment's stubs, by path; {} if it has none."""
    file = folder / STUBS_FILE
    tip = "generate it again: python -m grader.assignment.generated"
    try:
        stubs = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise SpecError(f"cannot be read: {error}", file=file, tip=tip) from error
    if not isinstance(stubs, dict) or not all(isinstance(value, str) for value in stubs.values()):
        raise SpecError("must map paths to fingerprints", file=file, tip=tip)
    return stubs


def generated_files(repository: Path) -> Iterator[tuple[Path, str]]:
    """Yield path and text of every generated file of all assignments."""
    for folder in find_assignments(repository / ASSIGNMENTS):
        yield from generated_for(read_assignment(folder), repository)


def generated_for(assignment: Assignment, repository: Path) -> Iterator[tuple[Path, str]]:
    """Yield path and text of every generated file of one assignment."""
    template = repository / TEMPLATES / assignment.name
    stubs = _stubs(assignment, repository)
    for path, text in stubs.items():
        yield template / path, text
    if any(map(may_include, stubs)):
        for name, text in assignment.header_texts.items():
            yield template / name, text
        for name in assignment.given:
            yield template / name, read_text(assignment.folder / name)
    prints = {path: fingerprint(text) for path, text in sorted(stubs.items())}
    yield assignment.folder / STUBS_FILE, json.dumps(prints, indent=2) + "\n"
    handout = assignment.folder / HANDOUT
    if handout.is_file():
        measured = calibrations(assignment.folder)
        yield handout, with_tables(read_text(handout), assignment, measured, handout)


def _stubs(assignment: Assignment, repository: Path) -> dict[str, str]:
    """Return the text of each stub, by path: from the solved file, else from the template.

    Raises GraderError if the marks of a solved file are wrong, or leave it whole.
    """
    reference = repository / REFERENCES / assignment.name
    stubs: dict[str, str] = {}
    handed_in = [kernel.paths_in(one) for kernel in assignment.kernels for one in kernel.files]
    for paths in (*handed_in, (PROGRAM_FILE,)):
        whole: list[Path] = []
        changed = False
        for path in paths:
            solved, template = reference / path, repository / TEMPLATES / assignment.name / path
            if solved.is_file():
                text = read_text(solved)
                try:
                    stubs[path] = stub_text(text)
                except ValueError as error:
                    raise GraderError(f"{solved}: {error}") from None
                if stubs[path] == text:
                    whole.append(solved)
                else:
                    changed = True
            elif template.is_file():
                stubs[path] = read_text(template)
        # Beside a file with gaps, a header may be given as it is.
        if whole and not changed:
            raise _without_gap(whole[0])
    return stubs


def _without_gap(solved: Path) -> GraderError:
    comment = "#" if solved.suffix == ".py" else "//"
    return GraderError(
        f"{solved} has no code between `TODO(student)` and `end`: its stub would be the solution",
        tip=f"put a line `{comment} TODO(student): about 6 lines` before what students write, "
        f"and a line `{comment} end` behind it",
    )


def write_generated(assignment: Assignment, repository: Path) -> Iterator[Path]:
    """Write the generated files of an assignment that are out of date, and yield their paths.

    Raises GraderError.
    """
    for path, text in generated_for(assignment, repository):
        if not path.is_file() or path.read_text(encoding="utf-8", errors="replace") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            yield path


def _course(arguments: list[str]) -> Path:
    """Return the course's folder: the argument, else the course of the current folder."""
    root = Path(arguments[0], ASSIGNMENTS) if arguments else course_root(Path.cwd())
    if root is None or not find_assignments(root):
        raise UsageError(
            f"there is no assignment in {root or ASSIGNMENTS}",
            tip="name the course's folder: python -m grader.assignment.generated COURSE",
        )
    return root.parent


def main(arguments: list[str]) -> int:
    """Write and print the files that are out of date. Returns the exit status."""
    try:
        course = _course(arguments)
        for folder in find_assignments(course / ASSIGNMENTS):
            for path in write_generated(read_assignment(folder), course):
                print(path)
    except GraderError as error:
        print(error, error.tip or "", sep="\n", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
