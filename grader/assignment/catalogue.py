"""Finds assignments: folders in `assignments/` with an `assignment.toml`.

Reads only names, never a spec.
"""

from __future__ import annotations

import os
from pathlib import Path

import grader
from grader.assignment.reader import COURSE_FILE, SPEC_FILE
from grader.errors import UsageError
from grader.text.did_you_mean import did_you_mean

ASSIGNMENTS = "assignments"
# For an installation outside the course's repository.
ASSIGNMENTS_VARIABLE = "GRADE_ASSIGNMENTS"


def find_assignments(root: Path) -> tuple[Path, ...]:
    """Return the folders in `root` with a spec, sorted by name."""
    try:
        return tuple(sorted(folder for folder in root.iterdir() if _holds_spec(folder)))
    except OSError:
        return ()


def folders_without_spec(root: Path) -> list[Path]:
    """Return the folders in `root` that have files, but no spec: it is missing or misspelt."""
    try:
        return sorted(
            folder
            for folder in root.iterdir()
            if folder.name[0] not in "._"
            and folder.is_dir()
            and not _holds_spec(folder)
            and any(path.is_file() for path in folder.iterdir())
        )
    except OSError:
        return []


def without_spec(folder: Path) -> UsageError:
    """Return the error for a folder of `folders_without_spec`."""
    tip = "the spec of an assignment is a file of this name; `grade new NAME` writes one"
    return UsageError(f"{folder} has no {SPEC_FILE}", tip=tip)


def root_above(start: Path) -> Path | None:
    """Return the nearest `assignments` of a course in `start` or its parents; None without one."""
    here = start.absolute()
    for folder in (here, *here.parents):
        root = folder / ASSIGNMENTS
        if find_assignments(root) or (root / COURSE_FILE).is_file():
            return root
    return None


def assignment_root(start: Path) -> Path | None:
    """Return the `assignments` folder for a command started in `start`; None if unknown.

    It is that of `course_root`, else the one in this package's repository.
    """
    if root := course_root(start):
        return root
    beside_package = Path(grader.__file__).resolve().parent.parent / ASSIGNMENTS
    return beside_package if find_assignments(beside_package) else None


def course_root(start: Path) -> Path | None:
    """Return the `assignments` folder that a user chose, for a command that writes into it.

    It is the nearest `assignments` with a spec in `start` or its parents, else the folder
    that GRADE_ASSIGNMENTS names; None without either. A folder without a spec may be a student's,
    with submissions; with a course.toml it is a course.
    """
    if root := root_above(start):
        return root
    named = os.environ.get(ASSIGNMENTS_VARIABLE)
    if named:
        root = Path(named).expanduser().absolute()
        if not find_assignments(root):
            raise UsageError(
                f"{ASSIGNMENTS_VARIABLE} is {named}, where no folder has an {SPEC_FILE}",
                tip=f"set it to the course's `{ASSIGNMENTS}` folder, or unset it",
            )
        return root
    return None


def assignment_folder(name: str, root: Path) -> Path:
    """Return the folder of the assignment `name`.

    Raises UsageError, which lists the known names, if there is none.
    """
    known = {folder.name: folder for folder in find_assignments(root)}
    # Shells complete the name of a folder with a slash.
    plain = name.rstrip("/")
    if plain in known:
        return known[plain]
    if plain and root / plain in folders_without_spec(root):
        raise without_spec(root / plain)
    if not known:
        raise UsageError(
            f"there is no assignment in {root}", tip=f"each is a folder with an {SPEC_FILE}"
        )
    raise UsageError(
        f"there is no assignment `{name}`{did_you_mean(plain, known)}",
        tip=f"known: {', '.join(known)}",
    )


def _holds_spec(folder: Path) -> bool:
    try:
        return (folder / SPEC_FILE).is_file()
    except OSError:  # a folder that this user may not enter
        return False
