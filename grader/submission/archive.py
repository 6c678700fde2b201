"""Read files out of a zip or tar archive that a student made.

Nothing is unpacked: of the members only those whose names are asked for are
read, into memory, up to a cap; so a name such as `../../x` leads nowhere, and
a bomb is cut off. Whatever else a forged archive does to the standard
library's parsers ends as a sentence.
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

_MOST_BYTES = 64 << 20  # of the archive itself
_MOST_UNPACKED_BYTES = 256 << 20  # of a tar archive on the way to its end
_MOST_MEMBERS = 10_000
_MOST_OTHERS = 1000  # names among which a wrong one is looked for
_MOST_PATH = 1000  # characters; a longer one is nobody's slip
_HIDDEN = (".", "__MACOSX")  # what a system put there
_ZIP_STARTS = (b"PK\3\4", b"PK\5\6", b"PK\7\x08")  # a member, none, one of several volumes
_IS_ENCRYPTED = 1  # of a zip member's flags


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive: its first bytes, or what it is instead of a file."""

    data: bytes = b""
    instead: str | None = None


@dataclass(frozen=True, slots=True)
class Contents:
    """The wanted files that are there, by wanted path, and the names of the others."""

    files: Mapping[str, Member]
    others: tuple[str, ...]


def read_archive(source: Path, folder: str, wanted: Collection[str], most_bytes: int) -> Contents:
    """Return what is there, each wanted file cut to `most_bytes`.

    A file may lie below other folders; the one below `folder` comes first, then the
    one with the shortest path. What lies beside `folder`, in a folder of its own, is
    another assignment's: each may have a `main.cu`. Raises UsageError if `source` is
    no archive that can be read.
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
    except Exception as error:  # parsers of hostile bytes raise whatever they like
        words = str(error) or type(error).__name__
        raise UsageError(f"cannot read the archive {source}: {words}", tip=_TIP) from error
    if members is None and _looks_zipped(source):
        raise UsageError(
            f"cannot read the archive {source}: the end of the zip is missing", tip=_TIP
        )
    if members is None:
        raise UsageError(f"{source} is neither a folder nor a zip or tar archive", tip=_TIP)
    found = {name: member for name, member in members.items() if member is not None}
    return Contents(
        files={path: found[name] for path, name in _best(found, folder, wanted)},
        others=tuple(_others(name for name, member in members.items() if member is None)),
    )


_TIP = "name a folder, or a zip or tar archive, with --from"


def _plain(name: str) -> str:
    """Return a member's name with slashes: some programs on Windows write `silu\\\\silu.cu`."""
    return name.replace("\\", "/")


def _asked_for(name: str, wanted: Collection[str]) -> bool:
    parts = PurePosixPath(name).parts
    return any(parts[-len(tail) :] == tail for tail in (PurePosixPath(p).parts for p in wanted))


def _best(
    members: Mapping[str, Member], folder: str, wanted: Collection[str]
) -> Iterator[tuple[str, str]]:
    ordered = sorted(members, key=lambda n: (folder not in PurePosixPath(n).parts, len(n), n))
    for path in wanted:
        names = [name for name in ordered if _asked_for(name, (path,))]
        if names and not _beside(names[0], ordered[0], folder):
            yield path, names[0]


def _beside(name: str, own: str, folder: str) -> bool:
    """True if `own` is below `folder` and the other neither there nor on the way to it."""
    place, home = PurePosixPath(name).parent, PurePosixPath(own).parent
    return folder in home.parts and folder not in place.parts and not home.is_relative_to(place)


def _others(paths: Iterable[str]) -> list[str]:
    """Return the names of files that a student may have taken for a wanted one."""
    plain = (PurePosixPath(path) for path in paths if len(path) <= _MOST_PATH)
    seen = {p.name for p in plain if not any(part.startswith(_HIDDEN) for part in p.parts)}
    return sorted(seen)[:_MOST_OTHERS]


def _members(
    source: Path, wanted: Collection[str], most_bytes: int
) -> dict[str, Member | None] | None:
    """Return the wanted members, and None for each other file; None if it is no archive."""
    # A zip is known by its end, and may stand behind anything: a tar that holds one ends alike.
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
    with zipfile.ZipFile(source) as archive:
        for info in archive.infolist()[:_MOST_MEMBERS]:
            name = _plain(info.filename)
            if name.endswith("/"):
                continue
            if not _asked_for(name, wanted):
                found[name] = None
                continue
            # The upper half of the attributes is the Unix mode, 0 if made elsewhere.
            if stat.S_ISLNK(info.external_attr >> 16):
                found[name] = Member(instead="a symbolic link")
            elif info.flag_bits & _IS_ENCRYPTED:
                raise UsageError(
                    f"cannot read the archive {source}: {name} is encrypted with a password",
                    tip="hand it in without a password",
                )
            else:
                with archive.open(info) as file:
                    found[name] = Member(file.read(most_bytes))
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
            # One pass, forwards: what lies between is skipped by reading it.
            archive = stack.enter_context(
                tarfile.open(fileobj=_Capped(unpacked), mode="r|", errorlevel=0)
            )
        except tarfile.ReadError:
            return None
        found: dict[str, Member | None] = {}
        for count, info in enumerate(archive):
            name = _plain(info.name)
            if count >= _MOST_MEMBERS:
                break
            if not _asked_for(name, wanted):
                if not info.isdir():
                    found[name] = None
                continue
            instead = next((word for is_kind, word in _TAR_KINDS if is_kind(info)), None)
            file = None if instead else archive.extractfile(info)
            found[name] = Member(file.read(most_bytes) if file else b"", instead)
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
    """A stream that ends in an error rather than go on for ever."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._left = _MOST_UNPACKED_BYTES

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise OSError(f"it unpacks to more than {_MOST_UNPACKED_BYTES >> 20} MiB")
        return data
