"""Reuse Triton's compiled kernels: copy them from one worker's folder into those of later workers.

    worker 1 ── its folder ── `collect_from` ──→ bytes here ── `copy_to` ──→ folder of worker 2, …
                   read while the worker waits,          written before the
                   or after it has ended                 submission is loaded

Every worker has its own scratch folder, and so its own Triton cache. Without this module
each worker would compile all kernels again, which takes about a second per configuration (without
a GPU, to Triton's IR only, a tenth of that).

The kernels of one built submission stay in memory as long as its `Built` object: they never reach
another student, language, build or run. The folder that they come from is untrusted. Only regular
files are read, relative to open descriptors, and only under the names that Triton gives them:

    triton/FOLDER/KERNEL.source .ttir .ttgir .llir .ptx .cubin .json    one kernel
    triton/FOLDER/KERNEL.ttir                                      one kernel, without a GPU
    triton/FOLDER/MODULE.cpython-….so                              part of a launcher

Their content is not interpreted. Triton's list of a kernel's files names them by full path, so
this module writes a new list for each folder. The choices of autotuners (`.autotune.json`) are not
copied: every worker measures for itself.

`grader.judge.session` decides which workers may contribute;
docs/decisions/compiled-kernels.md explains why.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

CACHE = "triton"  # the folder's name within a worker's scratch folder

# More than GEMM with forty configurations needs.
_MOST_BYTES = 32 << 20
_MOST_FILE_BYTES = 8 << 20
_MOST_FILES = 2048
_MOST_NAMES = 10_000  # that are read, in all folders together
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
    """An entry of a cache is not a plain file, or is too large."""


class CompiledKernels:
    """The kernels that workers of one built submission have compiled so far."""

    def __init__(self) -> None:
        # Replaced, never changed, because other threads may be copying.
        self._folders: Mapping[str, Files] = {}
        self._lock = threading.Lock()

    @property
    def folders(self) -> Mapping[str, Files]:
        """The files by folder name and file name."""
        return self._folders

    def copy_to(self, box: Path) -> None:
        """Write all kernels into the folder of a worker that has not run student code yet.

        The files get the owner of `box`. If `box` already has a cache, nothing is written, and the
        worker compiles for itself. Raises OSError if the disk is full.
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

    def collect_from(self, box: Path) -> None:
        """Add the kernels in the folder of a worker that is not compiling now.

        Folders that are already known are not replaced. A folder is skipped if its files are not
        plain files with a cache's names, or if a bound would be exceeded. Other processes of the
        submission may write meanwhile; that can change only its own files.
        """
        with self._lock:
            try:
                found = dict(_Reader(self._folders).read(box))
            except OSError:
                return  # there is no cache
            self._folders = {**found, **self._folders}


def _list_of(files: Files, folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of Triton's list of the files, if the folder holds a kernel."""
    for name in files:
        if name.endswith(".json"):
            paths = {file: str(folder / file) for file in files}
            yield _LIST + name, json.dumps({"child_paths": paths}).encode()


@contextlib.contextmanager
def _made(name: str, outside: int, owner: os.stat_result) -> Iterator[int]:
    """Make a folder in the open folder `outside` and yield its descriptor.

    Raises FileExistsError if the name exists, also as a link.
    """
    os.mkdir(name, 0o700, dir_fd=outside)
    with _opened(os.open(name, _PLAIN_FOLDER, dir_fd=outside)) as folder:
        os.fchown(folder, owner.st_uid, owner.st_gid)
        yield folder


def _write(name: str, folder: int, data: bytes, owner: os.stat_result) -> None:
    """Write a new file into an open folder."""
    with os.fdopen(os.open(name, _NEW_FILE, 0o600, dir_fd=folder), "wb") as file:
        os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
        file.write(data)


class _Reader:
    """Reads the cache in a worker's folder, within the bounds that `known` leaves."""

    def __init__(self, known: Mapping[str, Files]) -> None:
        self._known = known
        self._names_left = _MOST_NAMES
        self._files_left = _MOST_FILES - sum(len(files) for files in known.values())
        self._bytes_left = _MOST_BYTES - sum(
            len(data) for files in known.values() for data in files.values()
        )

    def read(self, box: Path) -> Iterator[tuple[str, Files]]:
        """Yield the valid folders by name. Raises OSError if there is no cache."""
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
        """Yield the names in a folder, up to the bound for all folders together."""
        with os.scandir(folder) as listing:
            for entry in listing:
                if self._names_left == 0:
                    return
                self._names_left -= 1
                yield entry.name

    def _folder(self, folder: int, owner: int) -> Files:
        """Return the files of a folder with one complete kernel or one module, else {}."""
        names = set(self._names(folder))
        kernels = {found["kernel"] for name in names if (found := _KERNEL.fullmatch(name))}
        modules = {name for name in names if _MODULE.fullmatch(name)}
        if len(kernels) + len(modules) != 1:
            return {}
        names_to_read = modules or {name for name in names if _KERNEL.fullmatch(name)}
        for kernel in kernels:
            # Triton writes the list last: without it, the compilation was interrupted. Without a
            # GPU there is only the IR.
            whole = {f"{kernel}.json", f"{kernel}.cubin", f"{_LIST}{kernel}.json"} <= names
            if not whole and names != {f"{kernel}.ttir"}:
                return {}
        if len(names_to_read) > self._files_left:
            return {}
        left = self._bytes_left
        files: dict[str, bytes] = {}
        for name in sorted(names_to_read):
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
    """Return the content of a plain file. Raises _NotPlainError."""
    descriptor = os.open(name, _PLAIN_FILE, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        # With a second link or another owner, it is the file of another user.
        plain = stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and found.st_uid == owner
        if not plain or found.st_size > most_bytes:
            raise _NotPlainError(name)
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise _NotPlainError(name)
    return data
