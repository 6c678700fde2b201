"""A folder or an archive → the files that one assignment asks for.

Only what the spec names is looked at, only regular files are read, and never
more than a cap: what is not a plain, small, readable file is a problem with a
sentence for the student, never an exception.

A hand-in is laid out as `NAME/file` (a folder per assignment) or as `file`
(one assignment's files); an archive may hold either below a single folder.
"""

from __future__ import annotations

import os
import stat
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from grader.errors import UsageError
from grader.spec import Assignment

MAX_FILE_BYTES = 1 << 20
_MAX_MEMBERS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HandIn:
    """One file of a hand-in: its text, or what is wrong with it."""

    path: str
    text: str = ""
    problem: str | None = None
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What one student handed in for one assignment, by path in the spec."""

    source: Path
    files: Mapping[str, HandIn]

    def __contains__(self, path: str) -> bool:
        return path in self.files


def read_submission(source: Path, assignment: Assignment) -> Submission:
    """Read the files that `assignment` names from a folder or archive.

    Files that are absent are absent from the result. Raises UsageError if
    `source` itself is not there or cannot be read.
    """
    wanted = [file for kernel in assignment.kernels for file in kernel.files.values()]
    if source.is_dir():
        found = list(_from_folder(source, assignment.name, wanted))
    elif source.exists():
        found = _from_archive(source, assignment.name, wanted)
    else:
        raise UsageError(f"there is no hand-in at {source}", tip="name a folder with --from")
    return Submission(source=source, files={file.path: file for file in found})


def _from_folder(source: Path, name: str, wanted: list[str]) -> Iterator[HandIn]:
    try:
        base = source / name if (source / name).is_dir() else source
        for path in wanted:
            try:
                status = os.lstat(base / path)
            except (FileNotFoundError, NotADirectoryError):
                continue
            problem = _kind_problem(path, status)
            yield problem or _read_regular(base, path)
    except PermissionError as error:
        raise UsageError(f"cannot read the hand-in {source}: {error.strerror}") from error


def _kind_problem(path: str, status: os.stat_result) -> HandIn | None:
    for is_kind, what in (
        (stat.S_ISLNK, "a symbolic link"),
        (stat.S_ISDIR, "a directory"),
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
        (lambda mode: stat.S_ISCHR(mode) or stat.S_ISBLK(mode), "a device"),
    ):
        if is_kind(status.st_mode):
            return HandIn(
                path=path,
                problem=f"{path} is {what}, not a file",
                hint=f"hand in {path} itself, as a plain file",
            )
    return None


def _read_regular(base: Path, path: str) -> HandIn:
    """Read a file, checking again what was opened: it may have been swapped."""
    try:
        # Not through a link, not blocking on a pipe.
        descriptor = os.open(base / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        return HandIn(path=path, problem=f"{path} cannot be read: {error.strerror}")
    with os.fdopen(descriptor, "rb") as file:
        problem = _kind_problem(path, os.fstat(file.fileno()))
        return problem or _decoded(path, file.read(MAX_FILE_BYTES + 1))


def _decoded(path: str, data: bytes) -> HandIn:
    if len(data) > MAX_FILE_BYTES:
        return HandIn(
            path=path,
            problem=f"{path} is larger than {MAX_FILE_BYTES >> 20} MiB",
            hint="hand in source code only, without data",
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return HandIn(
            path=path,
            problem=f"{path} is not UTF-8 text: line {line} has the byte 0x{data[error.start]:02x}",
            hint="save the file with the encoding UTF-8",
        )
    if "\0" in text:
        return HandIn(path=path, problem=f"{path} is not text: it has a zero byte")
    return HandIn(path=path, text=text)


def _from_archive(source: Path, name: str, wanted: list[str]) -> list[HandIn]:
    try:
        if zipfile.is_zipfile(source):
            with zipfile.ZipFile(source) as archive:
                return _from_zip(archive, name, wanted)
        if tarfile.is_tarfile(source):
            with tarfile.open(source) as tar:
                return _from_tar(tar, name, wanted)
    except (OSError, zipfile.BadZipFile, tarfile.TarError, RuntimeError, EOFError) as error:
        raise UsageError(f"cannot read the archive {source}: {error}") from error
    raise UsageError(
        f"{source} is neither a folder nor a zip or tar archive", tip="name a folder with --from"
    )


def _from_zip(archive: zipfile.ZipFile, name: str, wanted: list[str]) -> list[HandIn]:
    members = {info.filename: info for info in archive.infolist()[:_MAX_MEMBERS]}
    found = []
    for path, member in _located(members, name, wanted):
        info = members[member]
        # The upper half of the attributes is the Unix mode, 0 if made elsewhere.
        mode = info.external_attr >> 16
        if stat.S_ISLNK(mode):
            found.append(
                HandIn(path=path, problem=f"{path} is a symbolic link in the archive, not a file")
            )
            continue
        with archive.open(info) as file:
            found.append(_decoded(path, file.read(MAX_FILE_BYTES + 1)))
    return found


def _from_tar(tar: tarfile.TarFile, name: str, wanted: list[str]) -> list[HandIn]:
    members: dict[str, tarfile.TarInfo] = {}
    for count, info in enumerate(tar):
        if count >= _MAX_MEMBERS:
            break
        members[info.name.removeprefix("./")] = info
    found = []
    for path, member in _located(members, name, wanted):
        file = tar.extractfile(members[member]) if members[member].isreg() else None
        if file is None:
            found.append(HandIn(path=path, problem=f"{path} is not a plain file in the archive"))
        else:
            found.append(_decoded(path, file.read(MAX_FILE_BYTES + 1)))
    return found


def _located(
    members: Mapping[str, object], name: str, wanted: list[str]
) -> Iterator[tuple[str, str]]:
    """Yield (path in the spec, member of the archive), the shallowest match first."""
    for path in wanted:
        tail = PurePosixPath(path).parts
        candidates = [
            member
            for member in members
            if not member.endswith("/") and PurePosixPath(member).parts[-len(tail) :] == tail
        ]
        # A folder with the assignment's name wins over any other.
        candidates.sort(key=lambda member: (name not in PurePosixPath(member).parts, len(member)))
        if candidates:
            yield path, candidates[0]
