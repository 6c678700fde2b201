"""The hand-ins of a class: which there are in a folder, and whose.

    submission_metadata.yml beside folders     an export of Gradescope
    NAME-submissions/NAME-USER/…               clones of GitHub Classroom
    anything else                              a folder or an archive for each hand-in

What the folder holds was put there by staff; what a hand-in holds was not, and
is read by `submission` alone. A link is not followed: it is told.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from grader.assignment.model import Assignment
from grader.commands.batch.gradescope_export import METADATA, Student, read_metadata
from grader.commands.batch.store import holds_reports
from grader.errors import UsageError
from grader.submission.reader import own_folder

_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
_CLONES = "-submissions"
# A file system's longest name is 255 bytes, and a report's has an ending and, while it is
# written, a random part as well.
_MOST_NAME_BYTES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one hand-in is; `name` names its report, `students` have handed it in."""

    name: str
    source: Path
    students: tuple[Student, ...] = ()

    @property
    def title(self) -> str:
        """The name and the people, for staff to read."""
        people = ", ".join(s.name or s.email or s.sid for s in self.students)
        return f"{self.name} ({people})" if people else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Class:
    """All hand-ins by name, and a sentence for each thing that is none."""

    folder: Path
    places: tuple[Place, ...]
    passed_over: tuple[str, ...] = ()


def find_hand_ins(folder: Path, out: Path | None = None) -> Class:
    """Return the hand-ins in a folder, among which `out`, where reports go, is none.

    Raises UsageError if there are none, or if reports would lie among or in them.
    """
    if not folder.is_dir():
        tip = "unpack it first" if folder.is_file() else None
        raise UsageError(f"there is no folder {folder}", tip=tip)
    output = None if out is None else _output(folder, out)
    metadata = folder / METADATA
    people = read_metadata(metadata) if metadata.is_file() else {}
    places: dict[str, Place] = {}
    passed_over: list[str] = []
    for entry in sorted(folder.iterdir()):
        name = _name(entry, folder)
        if name is None:
            continue
        problem = "the folder of --out, no hand-in" if entry.name == output else _unfit(entry)
        if problem:
            passed_over.append(f"{entry.name}: {problem}")
        elif name in places:
            raise UsageError(
                f"{places[name].source} and {entry} would be one student's hand-in",
                tip="remove one of them, or rename it",
            )
        else:
            places[name] = Place(name=name, source=entry, students=people.get(entry.name, ()))
    absent = people.keys() - {place.source.name for place in places.values()}
    passed_over += [f"{name}: {METADATA} names it, but it is not here" for name in sorted(absent)]
    if not places:
        raise UsageError(f"there are no hand-ins in {folder}", tip=_where_else(folder))
    ordered = tuple(places[name] for name in sorted(places))
    return Class(folder=folder, places=ordered, passed_over=tuple(passed_over))


def asked_in(found: Class, assignments: list[Assignment]) -> list[Assignment]:
    """Return the assignments for which a hand-in has a folder.

    Raises UsageError if there is none: a file alone can belong to several.
    """
    asked = [
        a for a in assignments if any(own_folder(place.source, a.name) for place in found.places)
    ]
    if not asked:
        known = ", ".join(assignment.name for assignment in assignments)
        raise UsageError(
            f"no hand-in in {found.folder} has a folder named as an assignment",
            tip=f"name the assignment that was handed in: {known}",
        )
    return asked


def _output(folder: Path, out: Path) -> str | None:
    """Return the name of the output folder if it lies beside the hand-ins."""
    try:
        parts = out.resolve().relative_to(folder.resolve()).parts
    except (ValueError, OSError, RuntimeError):  # elsewhere; a loop of links is told when opened
        return None
    if len(parts) == 1:
        return parts[0]
    where = f"in a hand-in, {folder / parts[0]}" if parts else "the folder of the hand-ins itself"
    raise UsageError(
        f"--out: {out} is {where}: the next run would take reports for what students handed in",
        tip=f"name a folder elsewhere, such as {folder.resolve().name}-graded",
    )


def _name(entry: Path, folder: Path) -> str | None:
    """Return the name of a hand-in, None for what is not meant as one."""
    if entry.name in (METADATA, "__MACOSX", ".git") or entry.name.startswith("._"):
        return None
    if _hidden(entry) and not _may_hand_in(entry):
        return None
    name = entry.name
    if not entry.is_dir():
        ending = next((end for end in _ARCHIVES if name.lower().endswith(end)), "")
        name = name[: len(name) - len(ending)] or name
    if folder.name.endswith(_CLONES):
        name = name.removeprefix(folder.name.removesuffix(_CLONES) + "-") or name
    return name


def _hidden(entry: Path) -> bool:
    return entry.name.startswith(".")


def _may_hand_in(entry: Path) -> bool:
    """True for a folder or an archive, whatever its name: no editor's or system's own file."""
    return entry.is_dir() or entry.name.lower().endswith(_ARCHIVES)


def _unfit(entry: Path) -> str | None:
    if _hidden(entry):
        return "hidden, for its name begins with a dot; rename it if it is a hand-in"
    if entry.is_symlink():
        return "a link is not followed; put the folder itself here"
    if len(entry.name.encode(errors="surrogateescape")) > _MOST_NAME_BYTES:
        return f"its name is longer than {_MOST_NAME_BYTES} bytes; rename it"
    if not _may_hand_in(entry):
        return "neither a folder nor an archive (zip or tar)"
    if holds_reports(entry):
        return "the reports of an earlier run, no hand-in"
    return None


def _where_else(folder: Path) -> str:
    inner = [entry for entry in folder.glob(f"*/{METADATA}") if entry.is_file()]
    if inner:
        return f"name the export itself: {inner[0].parent}"
    return "name the folder that holds a folder or an archive for each student"
