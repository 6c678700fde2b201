"""A folder for a program that we do not trust, removed whatever it left there.

Folders nested thousands deep end Python's own removal by recursion, and a
folder without permissions stops it: then `rm` does it, after the owner's
rights have been restored.

What such a program leaves is read with `read`: a link in the place of a file
would have the judge read, with its own rights, whatever it leads to.
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
from grader.system.retry import patiently

_MOST_FILES = 50_000  # compilers and caches make hundreds


@contextmanager
def box(prefix: str) -> Iterator[Path]:
    """Make a folder for the time of the block."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield folder
    finally:
        remove(folder)


def remove(folder: Path) -> None:
    """Remove a folder and all in it; what cannot be removed stays, without an error."""
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        for command in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
            _do([*command, str(folder)])


def _do(command: list[str]) -> None:
    # No room for a process: the folder stays, as one that cannot be removed does.
    with contextlib.suppress(GraderError):
        patiently(lambda: subprocess.run(command, check=False, capture_output=True))


def size_mib(folder: Path) -> float:
    """Return what the files below take up on the disk, MiB; infinite if there are too many."""
    total_kib, entries = 0.0, 0
    waiting = [str(folder)]
    while waiting:
        # What goes away while it is looked at, or may not be looked at, counts nothing.
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

    Raises OSError if it is not there, is anything but a regular file, or is
    larger than `most_bytes`. The program must have ended.
    """
    # Without waiting: opening a named pipe would.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise OSError(errno.EFBIG, "too large", str(path))
    return data
