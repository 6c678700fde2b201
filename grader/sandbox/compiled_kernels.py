"""What Triton compiled in one worker of a hand-in, carried into the boxes of later ones.

    worker 1 ── its box ── `keep` ──→ bytes here ── `into` ──→ box of worker 2, …
                what looks like Triton's cache,     laid down before the
                read while it waits, or is dead     hand-in is loaded

Every worker has a box of its own, and so a cache of its own: without this each
compiles all kernels anew, which takes about a second a configuration.

What is kept is of one built hand-in (`Built` owns it), for as long as that
lives, in memory: never of another student, language or build, nor of another
run. The folder that it comes from is not trusted. Only plain files are read, by
name within descriptors, under names of Triton's own choosing:

    triton/FOLDER/KERNEL.source .ttir .ttgir .llir .ptx .cubin .json    one kernel
    triton/FOLDER/MODULE.cpython-….so                              part of a launcher

and nothing in them is looked at. Triton's list of a kernel's files names them by
their full paths, so it is written anew for each box, by us. The choices of its
tuners (`.autotune.json`) stay behind: every worker measures for itself.

Who may leave something for others is decided where workers are started; why, is
in docs/decisions/compiled-kernels.md.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

CACHE = "triton"  # in a worker's box

# More than GEMM with forty configurations leaves.
_MOST_BYTES = 32 << 20
_MOST_FILE_BYTES = 8 << 20
_MOST_FILES = 2048
_MOST_NAMES = 10_000  # that are looked at, in all folders together
_LIST = "__grp__"
_FOLDER = re.compile(r"[A-Z2-7]{52}")  # a SHA-256 in base 32
_KERNEL = re.compile(
    r"(?!__grp__)(?P<kernel>[A-Za-z_][A-Za-z0-9_]{0,149})\.(source|ttir|ttgir|llir|ptx|cubin|json)"
)
_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}(\.[A-Za-z0-9_-]{1,63})?\.so")
_PLAIN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PLAIN_FOLDER = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC

Files = Mapping[str, bytes]


class _NotPlainError(Exception):
    """What stands where a file of a cache should is something else, or too large."""


class Compiled:
    """What workers of one built hand-in have compiled so far."""

    def __init__(self) -> None:
        # Replaced and never changed: others may be copying meanwhile.
        self._folders: Mapping[str, Files] = {}

    @property
    def folders(self) -> Mapping[str, Files]:
        """The files by name, by the name of the folder that they lie in."""
        return self._folders

    def into(self, box: Path) -> None:
        """Lay it all down in the box of a worker in which nothing of the hand-in has run yet.

        It becomes the box's owner's. A box that holds a cache already is left as it is:
        then the worker compiles for itself. Raises OSError if there is no room.
        """
        folders = self._folders
        if not folders:
            return
        with _opened(os.open(box, _PLAIN_FOLDER)) as outside, contextlib.suppress(FileExistsError):
            owner = os.fstat(outside)
            with _made(CACHE, outside, owner) as cache:
                for name, files in folders.items():
                    paths = _list_of(files, box / CACHE / name)
                    with _made(name, cache, owner) as folder:
                        for file, data in (*files.items(), *paths):
                            _write(file, folder, data, owner)

    def keep(self, box: Path) -> None:
        """Take over what is in the box of a worker that compiles nothing now.

        What else of it runs may write meanwhile: into files that are its own.

        What is known already stays as it is. A folder that holds anything but
        plain files under a cache's names is left out, and so is all that would
        be too much.
        """
        try:
            found = dict(_Reader(self._folders).read(box))
        except OSError:
            return  # there is no cache, or what is there is none
        self._folders = {**found, **self._folders}


def _list_of(files: Files, folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield Triton's list of the kernel in the folder, under its name, if there is one."""
    for name in files:
        if name.endswith(".json"):
            paths = {file: str(folder / file) for file in files}
            yield _LIST + name, json.dumps({"child_paths": paths}).encode()


@contextlib.contextmanager
def _made(name: str, outside: int, owner: os.stat_result) -> Iterator[int]:
    """Make a folder in the folder `outside`; give its descriptor.

    Raises FileExistsError if anything stands there, a link too.
    """
    os.mkdir(name, 0o700, dir_fd=outside)
    with _opened(os.open(name, _PLAIN_FOLDER, dir_fd=outside)) as folder:
        os.fchown(folder, owner.st_uid, owner.st_gid)
        yield folder


def _write(name: str, folder: int, data: bytes, owner: os.stat_result) -> None:
    """Write a file that is not there yet into an open folder."""
    with os.fdopen(os.open(name, _NEW_FILE, 0o600, dir_fd=folder), "wb") as file:
        os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
        file.write(data)


class _Reader:
    """Reads the cache in a box, within what is left of the bounds."""

    def __init__(self, known: Mapping[str, Files]) -> None:
        self._known = known
        self._names_left = _MOST_NAMES
        self._files_left = _MOST_FILES - sum(len(files) for files in known.values())
        self._bytes_left = _MOST_BYTES - sum(
            len(data) for files in known.values() for data in files.values()
        )

    def read(self, box: Path) -> Iterator[tuple[str, Files]]:
        """Yield the folders that are in order. Raises OSError if there is no cache."""
        with _opened(os.open(box, _PLAIN_FOLDER)) as outside:
            owner = os.fstat(outside).st_uid
            with _opened(os.open(CACHE, _PLAIN_FOLDER, dir_fd=outside)) as cache:
                for name in self._names(cache):
                    if not _FOLDER.fullmatch(name) or name in self._known:
                        continue
                    with contextlib.suppress(OSError, _NotPlainError):
                        with _opened(os.open(name, _PLAIN_FOLDER, dir_fd=cache)) as folder:
                            files = self._folder(folder, owner)
                        if files:
                            yield name, files

    def _names(self, folder: int) -> Iterator[str]:
        """Yield the names in a folder, as long as so many may be looked at."""
        with os.scandir(folder) as listing:
            for entry in listing:
                if self._names_left == 0:
                    return
                self._names_left -= 1
                yield entry.name

    def _folder(self, folder: int, owner: int) -> Files:
        """Return the files of one folder: of one whole kernel, or of one module."""
        names = set(self._names(folder))
        kernels = {found["kernel"] for name in names if (found := _KERNEL.fullmatch(name))}
        modules = {name for name in names if _MODULE.fullmatch(name)}
        if len(kernels) + len(modules) != 1:
            return {}
        wanted = modules or {name for name in names if _KERNEL.fullmatch(name)}
        for kernel in kernels:
            # The list comes last: without it, the compiler was ended on its way.
            if not {f"{kernel}.json", f"{kernel}.cubin", f"{_LIST}{kernel}.json"} <= names:
                return {}
        if len(wanted) > self._files_left:
            return {}
        left = self._bytes_left
        files: dict[str, bytes] = {}
        for name in sorted(wanted):
            files[name] = _read(folder, name, owner, min(left, _MOST_FILE_BYTES))
            left -= len(files[name])
        self._files_left -= len(files)
        self._bytes_left = left
        return files


@contextlib.contextmanager
def _opened(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _read(folder: int, name: str, owner: int, most_bytes: int) -> bytes:
    """Return the content of a plain file; see `_NotPlainError`."""
    descriptor = os.open(name, _PLAIN_FILE, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        # Another link, or another owner: then it is, or was, the file of somebody else.
        plain = stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and found.st_uid == owner
        if not plain or found.st_size > most_bytes:
            raise _NotPlainError(name)
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise _NotPlainError(name)
    return data
