"""Contents of the archives: the grader, the assignments, the stubs; never a solved file."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import grader
from grader.assignment.catalogue import ASSIGNMENTS
from grader.assignment.dialects import may_include
from grader.assignment.generated import REFERENCES, STUBS_FILE, TEMPLATES
from grader.assignment.handout import HANDOUT
from grader.assignment.model import ORACLE_FILE, Assignment
from grader.assignment.reader import COURSE_FILE, SPEC_FILE
from grader.commands.release.pack import Entry
from grader.commands.release.visible import visible_spec
from grader.errors import GraderError, UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PACKAGE = Path(grader.__file__).resolve().parent
_FILES = Path(__file__).with_name("files")
# Files of the repository that the installation of the package needs.
_INSTALLATION = ("pyproject.toml", "constraints.txt", "README.md", "tools/set_up.py")
STUDENTS_PAGES = ("docs/students.md", "docs/languages.md", "docs/colab.ipynb")
# An image is made from these files at the root of an archive. Not from pyproject.toml: the
# Python of an image may be too old to read TOML (Ubuntu 22.04's is).
REQUIREMENTS, CONSTRAINTS = "requirements.txt", "constraints.txt"
_LEFT_BY_TOOLS = {".pyc", ".so", ".o"}
_PAGES = {".md", ".png", ".svg", ".jpg", ".pdf"}


def grader_files() -> Iterator[Entry]:
    """Yield the package's sources and the files that install them.

    Raises UsageError if the package is not in its repository.
    """
    for name in _INSTALLATION:
        path = PACKAGE.parent / name
        if not path.is_file():
            raise UsageError(
                f"there is no {name} in {PACKAGE.parent}",
                tip="run `grade release` from the grader's repository, not from an installed copy",
            )
        yield _entry(path, name)
    for path in sorted(PACKAGE.rglob("*")):
        if path.is_file() and path.suffix not in _LEFT_BY_TOOLS and "__pycache__" not in path.parts:
            yield _entry(path, path.relative_to(PACKAGE.parent).as_posix())


def students_pages() -> Iterator[Entry]:
    """Yield the page that explains reports to students, and the notebook, if they are here."""
    for name in STUDENTS_PAGES:
        path = PACKAGE.parent / name
        if path.is_file():
            yield _entry(path, name)


def image_files() -> Iterator[Entry]:
    """Yield the grader's requirements and their tested versions for pip in an image."""
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    lines = project["project"]["dependencies"]
    yield Entry(REQUIREMENTS, "".join(f"{line}\n" for line in lines).encode())
    yield _entry(PACKAGE.parent / CONSTRAINTS, CONSTRAINTS)


def course_file(assignment: Assignment) -> Iterator[Entry]:
    """Yield the course's file of what assignments share, if there is one."""
    file = assignment.folder.parent / COURSE_FILE
    if file.is_file():
        yield _entry(file, f"{ASSIGNMENTS}/{COURSE_FILE}")


def graded_files(assignment: Assignment) -> Iterator[Entry]:
    """Yield all files that grading needs, including hidden cases."""
    yield from course_file(assignment)
    for path in sorted(assignment.folder.rglob("*")):
        inner = path.relative_to(assignment.folder)
        if path.is_file() and "__pycache__" not in inner.parts:
            yield _entry(path, f"{ASSIGNMENTS}/{assignment.name}/{inner.as_posix()}")


def visible_files(assignment: Assignment, *, graded_again: bool) -> Iterator[Entry]:
    """Yield the files that a student may see: visible cases, handout, fingerprints.

    If the submission is `graded_again`, with the hidden cases, the spec keeps their number.
    """
    folder = f"{ASSIGNMENTS}/{assignment.name}"
    file = assignment.folder / SPEC_FILE
    counts = [(one.hidden_cases, one.weight_of_hidden) for one in assignment.of_entries]
    hidden, weight = counts[0] if graded_again else (0, 0)
    spec = visible_spec(
        file.read_text(encoding="utf-8-sig"),
        file,
        hidden=hidden,
        weight=weight,
        entries=counts[1:] if graded_again else (),
    )
    yield Entry(f"{folder}/{SPEC_FILE}", spec.encode())
    for path in sorted(assignment.folder.iterdir()):
        names = (ORACLE_FILE, STUBS_FILE, *assignment.given)
        if path.is_file() and (path.name in names or path.suffix in _PAGES):
            yield _entry(path, f"{folder}/{path.name}")


def handout_file(assignment: Assignment) -> Iterator[Entry]:
    """Yield the handout, if there is one."""
    if (assignment.folder / HANDOUT).is_file():
        yield _entry(assignment.folder / HANDOUT, HANDOUT)


def stub_files(assignment: Assignment, repository: Path) -> Iterator[Entry]:
    """Yield the stubs, the header and given files. Raises UsageError if a file is missing."""
    template = repository / TEMPLATES / assignment.name
    names = [*assignment.paths, *assignment.given]
    if any(map(may_include, names)):
        names += assignment.header_texts
    for name in names:
        if not (template / name).is_file():
            tip = f"make it: python -m grader.assignment.generated {repository}"
            solved = repository / REFERENCES / assignment.name / name
            if name in assignment.paths and not solved.is_file():
                tip = f"write the solved file {solved}, then {tip}"
            raise UsageError(f"there is no stub {template / name}", tip=tip)
        yield _entry(template / name, f"{TEMPLATES}/{assignment.name}/{name}")


def written_files(target: str, words: dict[str, str]) -> Iterator[Entry]:
    """Yield the target's own files, with each `@KEY@` replaced; scripts are executable."""
    folder = _FILES / target
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            for key, value in words.items():
                text = text.replace(f"@{key}@", value)
            name = path.relative_to(folder).as_posix()
            name = name.replace("@NAME@", words.get("NAME", "@NAME@"))
            # Package builds leave out files whose names begin with a dot.
            name = name.replace("dot_", ".")
            yield Entry(name, text.encode(), executable=text.startswith("#!"))


def below(folder: str, entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield the entries with their paths below `folder`."""
    for entry in entries:
        yield replace(entry, path=f"{folder}/{entry.path}")


def _entry(path: Path, name: str) -> Entry:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise GraderError(f"cannot read {path}: {error.strerror or error}") from error
    return Entry(name, data, executable=data.startswith(b"#!"))
