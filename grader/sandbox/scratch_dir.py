"""Scratch folders for untrusted programs: make, measure, read and remove them.

Folders nested thousands deep make Python's own removal fail with a RecursionError, and a folder
without permissions stops it. Then `chmod` and `rm` remove them.

Use `read` for a file that such a program left: an ordinary `open` would follow a link and read,
with the judge's rights, whatever it leads to.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from grader.errors import GraderError
from grader.system.retry import retry_start

_MOST_FILES = 50_000  # compilers and caches make hundreds


@contextmanager
def scratch_folder(prefix: str) -> Iterator[Path]:
    """Make a folder that exists for the duration of the block."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield folder
    finally:
        remove(folder)


def refuses_programs(folder: Path) -> bool:
    """True if no program or library in the folder can run: its disk is mounted `noexec`."""
    refused = getattr(os, "ST_NOEXEC", 0)  # `grade doctor` asks on other systems, too
    return bool(refused and os.statvfs(folder).f_flag & refused)


def free_bytes(folder: Path) -> int:
    """Return the free bytes of the disk with this folder, which may not exist yet."""
    there = next(one for one in (folder, *folder.parents) if one.exists())
    return shutil.disk_usage(there).free


def remove(folder: Path) -> None:
    """Remove a folder and all in it; what cannot be removed stays, without an error."""
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        script = 'chmod -R u+rwX "$0"; rm -rf "$0"'
        # The folder stays if the machine cannot start a process.
        with contextlib.suppress(GraderError):
            command = ["/bin/sh", "-c", script, str(folder)]
            retry_start(lambda: subprocess.run(command, check=False, capture_output=True))


def size_mib(folder: Path) -> float:
    """Return the disk space of all files below, MiB; infinite if there are too many files."""
    total_kib, entries = 0.0, 0
    waiting = [str(folder)]
    while waiting:
        # An entry that vanishes meanwhile, or cannot be inspected, does not count.
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as listing:
            for entry in listing:
                entries += 1
                if entries > _MOST_FILES:
                    return float("inf")
                with contextlib.suppress(OSError):
                    total_kib += entry.stat(follow_symlinks=False).st_blocks / 2
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
    return total_kib / 1024


def read(path: Path, most_bytes: int) -> bytes:
    """Return the content of a regular file that an untrusted program left in its folder.

    Raises OSError if the file is absent, not regular, or larger than `most_bytes`. The program
    must have ended.
    """
    # Non-blocking: opening a named pipe would wait for a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise OSError(errno.EFBIG, "too large", str(path))
    return data


def read_if_there(path: Path, most_bytes: int) -> bytes:
    """Return what `read` returns, or nothing where it fails: an untrusted program left no file."""
    try:
        return read(path, most_bytes)
    except OSError:
        return b""
