"""Read the source files of one assignment from a submission, a folder or an archive.

Only regular files that the spec names are read, up to a cap. Any other kind of file gives a problem
with a sentence for the student, never an exception. No link below the given folder is followed: it
could lead to files that the student may not read.

A submission contains `NAME/file` (a folder per assignment) or `file` (one assignment's files), or
either below a single folder. It may also be the whole course as students get it, with their work in
`student_template/`.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from grader.assignment.generated import TEMPLATES
from grader.assignment.model import Assignment
from grader.errors import UsageError
from grader.submission.archive import ENDINGS, read_archive
from grader.text.did_you_mean import did_you_mean

MAX_FILE_BYTES = 1 << 20
_MOST_NAMES = 1000
# Not unpacked within a folder or another archive.
_PACKED = (*ENDINGS, ".7z", ".rar")
# Messages show this if the submission's path would mean nothing to the student.
ELSEWHERE = "the submission"
# The bounds of the search for a wanted file in deeper folders.
_MOST_FOLDERS = 100
_DEEPEST = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One source file: its text, or what is wrong with it.

    `headers` are the files that it includes, of the student's and given ones. `replaced` marks a
    given file of which the submission has another text, which is not used.
    """

    path: str
    text: str = ""
    problem: str | None = None
    hint: str = ""
    headers: tuple[SourceFile, ...] = ()
    replaced: bool = False

    @property
    def header_texts(self) -> dict[str, str]:
        """The texts of the headers, by name."""
        return {PurePosixPath(header.path).name: header.text for header in self.headers}


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One student's source files for one assignment, by path in the spec.

    `others` are the names of other files, one of which may be a misnamed wanted file. If no wanted
    file was found, they include paths of files with a wanted name that are deeper, or in the
    assignment's folder beside this one. `shown_as` replaces the
    path in messages if the reader does not know the path; the advice is then to hand in again.
    `folder` is where the files were found, None for an archive.
    """

    source: Path
    files: Mapping[str, SourceFile]
    folder: Path | None = None
    others: tuple[str, ...] = ()
    shown_as: str = ""

    def __contains__(self, path: str) -> bool:
        return path in self.files

    def misnamed(self, path: str) -> str:
        """Return "; did you mean …?" if another file may be `path`, or contain it, else ""."""
        name = PurePosixPath(path).name
        alike = [n for n in self.others if n.lower().startswith(name.lower())]
        if alike:
            return f"; is `{alike[0]}` meant? It must be called {name}"
        if below := [n for n in self.others if n.endswith(f"/{name}")]:
            advice = f"hand in {name} without the folders" if self.shown_as else "name that folder"
            return f"; `{below[0]}` is there: {advice}"
        suffix = PurePosixPath(path).suffix
        same_kind = [n for n in self.others if n.endswith(suffix) and "/" not in n]
        meant = did_you_mean(name, same_kind)
        if not meant and len(same_kind) == 1:
            return f"; `{same_kind[0]}` is there: rename it to {name} if it is meant"
        packed = [n for n in self.others if n.lower().endswith(_PACKED) and "/" not in n]
        if packed and not meant and not self.files:
            return f"; `{packed[0]}` is not unpacked: hand in the files themselves"
        return meant


def own_folder(source: Path, name: str) -> Path | None:
    """Return the folder of the assignment, directly or in `student_template/`; None if absent."""
    places = (source / name, source / TEMPLATES / name)
    return next((place for place in places if place.is_dir()), None)


def read_submission(source: Path, assignment: Assignment) -> Submission:
    """Read the files that `assignment` names from a folder or archive.

    Absent files are absent from the result. Raises UsageError if `source` itself does not exist or
    cannot be read.
    """
    wanted = [*assignment.paths, *assignment.given]
    others: tuple[str, ...] = ()
    folder: Path | None = None
    try:
        if source.is_dir():
            found, others, inner = _from_folder(source, assignment.name, wanted)
            folder = source / inner
            if not found:
                beside = (f"../{assignment.name}/{path}" for path in wanted)
                others += tuple(path for path in beside if (source.absolute() / path).is_file())
        elif source.exists():
            found, others = _from_archive(source, assignment.name, wanted)
        else:
            raise UsageError(f"there is no submission at {source}", tip="name a folder with --from")
    except (PermissionError, ValueError) as error:  # a zero byte in a path is a ValueError
        words = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read the submission {source}: {words}") from error
    files = {file.path: file for file in found}
    return Submission(source=source, files=files, folder=folder, others=others)


def read_file(file: Path, path: str, assignment: Assignment) -> Submission:
    """Read one file as the assignment's `path`, and the other files that it names from its folder.

    Raises UsageError if the file does not exist or its folder cannot be read.
    """
    wanted = [*assignment.paths, *assignment.given]
    try:
        base = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror or error}") from error
    try:
        source = _read(base, file.name)
        others = [_read(base, other) for other in wanted if other != path]
    finally:
        os.close(base)
    if source is None:
        raise UsageError(f"there is no file {file}", tip="name a source file, or a folder")
    files = {other.path: other for other in others if other is not None}
    files[path] = replace(source, path=path)
    return Submission(source=file, files=files, folder=file.parent)


def _from_folder(
    source: Path, name: str, wanted: list[str]
) -> tuple[list[SourceFile], tuple[str, ...], str]:
    """Return the files, the names of others, and the folder of the files below `source`."""
    with contextlib.ExitStack() as stack:
        base = os.open(source, os.O_RDONLY | os.O_DIRECTORY)
        stack.callback(os.close, base)
        others: tuple[str, ...] = ()
        for folder, inner in ((base, ""), *_inner_folders(base, stack)):
            found, names, own = _read_wanted(folder, name, wanted, stack)
            if found:
                return found, names, f"{inner}{own}"
            others += names
        # First those in a folder of the assignment: several have a main.cu.
        deeper = sorted(_deeper(base, wanted), key=lambda n: PurePosixPath(n).parent.name != name)
        return [], (*others, *deeper), ""


def _inner_folders(base: int, stack: contextlib.ExitStack) -> Iterator[tuple[int, str]]:
    """Open the folders below `base` that may hold the files: the template, or the only folder.

    Yields each with its path below `base`, which ends in a slash.
    """
    with contextlib.suppress(OSError):
        yield _opened(TEMPLATES, base, stack), f"{TEMPLATES}/"
    with contextlib.suppress(OSError):
        name = _only_folder(base)
        only = _opened(name, base, stack)
        yield only, f"{name}/"
        yield _opened(TEMPLATES, only, stack), f"{name}/{TEMPLATES}/"


def _read_wanted(
    base: int, name: str, wanted: list[str], stack: contextlib.ExitStack
) -> tuple[list[SourceFile], tuple[str, ...], str]:
    """Read the wanted files from the assignment's folder in `base`, or from `base` itself.

    Returns them, the names of the other files in that folder, and its name ("" for `base`).
    """
    own = ""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        kind = _kind(os.lstat(name, dir_fd=base))
        if kind == "a symbolic link":
            # The link is not followed; each wanted file is a problem.
            return [_unfit(path, f"{name}/ is {kind}, not a folder") for path in wanted], (), own
        if kind == "a directory":
            base, own = _opened(name, base, stack), name
    found = [file for path in wanted if (file := _read(base, path)) is not None]
    names = sorted(os.listdir(base))[:_MOST_NAMES]  # noqa: PTH208 # a descriptor
    return found, tuple(n for n in names if n not in wanted), own


def _opened(folder: str, base: int, stack: contextlib.ExitStack) -> int:
    """Open a folder below the open folder `base`. Raises OSError, also for a link."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=base)
    stack.callback(os.close, descriptor)
    return descriptor


def _only_folder(base: int) -> str:
    """Return the only name in the open folder that is not hidden. Raises FileNotFoundError."""
    names = [n for n in os.listdir(base) if not n.startswith((".", "__MACOSX"))]
    if len(names) != 1:
        raise FileNotFoundError
    return names[0]


def _deeper(base: int, wanted: list[str]) -> Iterator[str]:
    """Yield paths below the open folder that end in a wanted path; links are not followed."""
    for number, (folder, folders, files, _) in enumerate(os.fwalk(".", dir_fd=base)):
        if number >= _MOST_FOLDERS:
            return
        depth = len(PurePosixPath(folder).parts)
        folders[:] = sorted(n for n in folders if not n.startswith(".")) if depth < _DEEPEST else []
        if depth:
            names = (str(PurePosixPath(folder, name)) for name in sorted(files)[:_MOST_NAMES])
            yield from (n for n in names if any(n.endswith(f"/{path}") for path in wanted))


def _read(base: int, path: str) -> SourceFile | None:
    """Read one file below the open folder `base`; None if it is absent."""
    *folders, name = PurePosixPath(path).parts
    with contextlib.ExitStack() as stack:
        for folder in folders:
            try:
                base = _opened(folder, base, stack)
            except FileNotFoundError:
                return None
            except OSError:
                return _unfit(path, f"{folder}/ is not a folder")
        try:
            kind = _kind(os.lstat(name, dir_fd=base))
            if kind is not None:
                return _unfit(path, f"{path} is {kind}, not a file")
            # The file may have been replaced by a link, or by a pipe that would block.
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
            descriptor = os.open(name, flags, dir_fd=base)
        except FileNotFoundError:
            return None
        except OSError as error:
            return _unfit(path, f"{path} cannot be read: {error.strerror}")
        with os.fdopen(descriptor, "rb") as file:
            kind = _kind(os.fstat(file.fileno()))
            if kind is not None:
                return _unfit(path, f"{path} is {kind}, not a file")
            return _decoded(path, file.read(MAX_FILE_BYTES + 1))


def _unfit(path: str, problem: str) -> SourceFile:
    name = PurePosixPath(path).name
    return SourceFile(path=path, problem=problem, hint=f"hand in {name} itself, as a plain file")


def _kind(status: os.stat_result) -> str | None:
    """Name the kind of a file; None for a regular file."""
    for is_kind, what in (
        (stat.S_ISREG, None),
        (stat.S_ISLNK, "a symbolic link"),
        (stat.S_ISDIR, "a directory"),
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
    ):
        if is_kind(status.st_mode):
            return what
    return "a device"


def _decoded(path: str, data: bytes) -> SourceFile:
    if len(data) > MAX_FILE_BYTES:
        return SourceFile(
            path=path,
            problem=f"{path} is larger than {MAX_FILE_BYTES >> 20} MiB",
            hint="hand in source code only, without data",
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return SourceFile(
            path=path,
            problem=f"{path}:{line}: not UTF-8 text: there is a byte 0x{data[error.start]:02x}",
            hint="save the file with the encoding UTF-8",
        )
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        return SourceFile(
            path=path,
            problem=f"{path}:{line}: not text: there is a zero byte",
            hint="hand in source code, not a compiled file; save it with the encoding UTF-8",
        )
    return SourceFile(path=path, text=text)


def _from_archive(
    source: Path, name: str, wanted: list[str]
) -> tuple[list[SourceFile], tuple[str, ...]]:
    members, others = read_archive(source, name, wanted, MAX_FILE_BYTES + 1)
    found = [
        _decoded(path, member.data)
        if member.kind is None
        else _unfit(path, f"{path} is {member.kind} in the archive, not a file")
        for path, member in members.items()
    ]
    return found, others
