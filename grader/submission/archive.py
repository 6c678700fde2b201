"""Read files out of a zip or tar archive that a student made.

Nothing is written to disk. Only members with wanted names are read, into memory, up to a cap: a
name such as `../../x` cannot escape, and a decompression bomb is cut off. Any exception that a
forged archive causes in the standard library's parsers becomes a UsageError.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import stat
import tarfile
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, cast

from grader.errors import UsageError

# How the names of the archives end that can be read.
ENDINGS = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
_MOST_BYTES = 64 << 20  # of the archive itself
_MOST_UNPACKED_BYTES = 256 << 20  # of a whole tar archive, of the files wanted from a zip
_UNPACKS_TO_MORE = f"it unpacks to more than {_MOST_UNPACKED_BYTES >> 20} MiB"
_MOST_MEMBERS = 10_000
_MOST_OTHERS = 1000  # names that are searched for a misnamed file
_MOST_PATH = 1000  # characters
_HIDDEN = (".", "__MACOSX")  # names that operating systems add
_ZIP_STARTS = (b"PK\3\4", b"PK\5\6", b"PK\7\x08")  # a member, an empty zip, a multi-volume zip
_IS_ENCRYPTED = 1  # a bit of a zip member's flags
# What systems make. `zipfile` unpacks the rest without a bound: 900 bytes of bzip2 are a gigabyte.
_BOUNDED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_TIP = "name a folder, or a zip or tar archive, with --from"


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an archive: its first bytes, or its kind if it is no regular file."""

    data: bytes = b""
    kind: str | None = None


def read_archive(
    source: Path, folder: str, wanted: Collection[str], most_bytes: int
) -> tuple[dict[str, Member], tuple[str, ...]]:
    """Return the wanted files by path, each cut to `most_bytes`, and the names of the others.

    A wanted file may be below other folders. If there are several, one below `folder` comes first,
    then the one with the shortest path. A file in a folder beside `folder` belongs to another
    assignment (each may have a `main.cu`) and is ignored. Raises UsageError if `source` cannot be
    read.
    """
    try:
        if not source.is_file():
            raise UsageError(f"{source} is neither a folder nor a file", tip=_TIP)
        if source.stat().st_size > _MOST_BYTES:
            raise UsageError(
                f"{source} is larger than {_MOST_BYTES >> 20} MiB",
                tip="hand in source files only, without data or build products",
            )
        members = _members(source, wanted, most_bytes)
    except UsageError:
        raise
    except Exception as error:  # on hostile bytes the parsers raise many kinds of exceptions
        words = str(error) or type(error).__name__
        raise UsageError(f"cannot read the archive {source}: {words}", tip=_TIP) from error
    if members is None and _looks_zipped(source):
        raise UsageError(
            f"cannot read the archive {source}: the end of the zip is missing", tip=_TIP
        )
    if members is None:
        raise UsageError(f"{source} is neither a folder nor a zip or tar archive", tip=_TIP)
    found = {name: member for name, member in members.items() if member is not None}
    files = {path: found[name] for path, name in _best(found, folder, wanted)}
    return files, _others(name for name, member in members.items() if member is None)


def _with_slashes(name: str) -> str:
    """Return a member's name with slashes: some programs on Windows write `silu\\\\silu.cu`."""
    return name.replace("\\", "/")


def _is_wanted(name: str, wanted: Collection[str]) -> bool:
    """True if the name ends in a wanted path."""
    parts = PurePosixPath(name).parts
    return any(parts[-len(tail) :] == tail for tail in (PurePosixPath(p).parts for p in wanted))


def _best(
    members: Mapping[str, Member], folder: str, wanted: Collection[str]
) -> Iterator[tuple[str, str]]:
    ordered = sorted(members, key=lambda n: (folder not in PurePosixPath(n).parts, len(n), n))
    for path in wanted:
        names = [name for name in ordered if _is_wanted(name, (path,))]
        if names and not _is_beside(names[0], ordered[0], folder):
            yield path, names[0]


def _is_beside(name: str, best: str, folder: str) -> bool:
    """True if `best` is below `folder`, and `name` is neither there nor in a folder above it."""
    place, home = PurePosixPath(name).parent, PurePosixPath(best).parent
    return folder in home.parts and folder not in place.parts and not home.is_relative_to(place)


def _others(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the names of files that may be a wanted file under a wrong name."""
    plain = (PurePosixPath(path) for path in paths if len(path) <= _MOST_PATH)
    seen = {p.name for p in plain if not any(part.startswith(_HIDDEN) for part in p.parts)}
    return tuple(sorted(seen)[:_MOST_OTHERS])


def _members(
    source: Path, wanted: Collection[str], most_bytes: int
) -> dict[str, Member | None] | None:
    """Return the wanted members, and None for each other file; None if it is no archive."""
    # Zip files are recognised by their end. A tar whose last member is a zip has the same end.
    for read in (_zip, _tar) if _looks_zipped(source) else (_tar, _zip):
        members = read(source, wanted, most_bytes)
        if members is not None:
            return members
    return None


def _looks_zipped(source: Path) -> bool:
    with source.open("rb") as file:
        return file.read(4) in _ZIP_STARTS


def _zip(source: Path, wanted: Collection[str], most_bytes: int) -> dict[str, Member | None] | None:
    if not zipfile.is_zipfile(source):
        return None
    found: dict[str, Member | None] = {}
    unpacked = 0
    with zipfile.ZipFile(source) as archive:
        for info in archive.infolist()[:_MOST_MEMBERS]:
            name = _with_slashes(info.filename)
            if name.endswith("/"):
                continue
            if not _is_wanted(name, wanted):
                found[name] = None
                continue
            # The upper half of the attributes is the Unix mode, 0 from other systems.
            if stat.S_ISLNK(info.external_attr >> 16):
                found[name] = Member(kind="a symbolic link")
            elif info.flag_bits & _IS_ENCRYPTED:
                raise UsageError(
                    f"cannot read the archive {source}: {name} is encrypted with a password",
                    tip="make the archive without a password",
                )
            elif info.compress_type not in _BOUNDED:
                raise UsageError(
                    f"cannot read the archive {source}: {name} is compressed in an unusual way",
                    tip="make the archive with your system's own program, or with `zip`",
                )
            else:
                with archive.open(info) as file:
                    data = file.read(most_bytes)
                unpacked += len(data)
                if unpacked > _MOST_UNPACKED_BYTES:
                    raise OSError(_UNPACKS_TO_MORE)
                found[name] = Member(data)
    return found


_TAR_KINDS: tuple[tuple[Callable[[tarfile.TarInfo], bool], str], ...] = (
    (tarfile.TarInfo.issym, "a symbolic link"),
    (tarfile.TarInfo.islnk, "a hard link"),
    (tarfile.TarInfo.isdir, "a directory"),
    (tarfile.TarInfo.isfifo, "a named pipe"),
    (tarfile.TarInfo.isdev, "a device"),
)


def _tar(source: Path, wanted: Collection[str], most_bytes: int) -> dict[str, Member | None] | None:
    with contextlib.ExitStack() as stack:
        unpacked = stack.enter_context(_unpacked(source))
        try:
            # A stream, read once: `_Capped` counts skipped members too.
            archive = stack.enter_context(
                tarfile.open(fileobj=_Capped(unpacked), mode="r|", errorlevel=0)
            )
        except tarfile.ReadError:
            return None
        found: dict[str, Member | None] = {}
        for count, info in enumerate(archive):
            name = _with_slashes(info.name)
            if count >= _MOST_MEMBERS:
                break
            if not _is_wanted(name, wanted):
                if not info.isdir():
                    found[name] = None
                continue
            kind = next((word for is_kind, word in _TAR_KINDS if is_kind(info)), None)
            file = None if kind else archive.extractfile(info)
            found[name] = Member(file.read(most_bytes) if file else b"", kind)
    return found


def _unpacked(source: Path) -> IO[bytes]:
    with source.open("rb") as file:
        start = file.read(6)
    if start.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.open(source))
    if start.startswith(b"BZh"):
        return cast(IO[bytes], bz2.open(source))
    if start.startswith(b"\xfd7zXZ"):
        return cast(IO[bytes], lzma.open(source))
    return source.open("rb")


class _Capped(io.RawIOBase):
    """A stream that raises OSError after a limit, against decompression bombs."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._left = _MOST_UNPACKED_BYTES

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise OSError(_UNPACKS_TO_MORE)
        return data
