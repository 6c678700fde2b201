"""A lock for each GPU, across all processes of a machine: shared to check, exclusive to time.

A file for each GPU, named by its UUID, is locked by `flock`: shared while a submission is graded,
exclusively while one is timed. A process that waits for exclusive use locks a second file, the
queue, which every process passes before it shares the GPU: otherwise a stream of sharing processes
would starve it. The kernel releases a lock when its holder dies. `grade local` and `grade batch`
of all users use the same files; where the files cannot be made, grading goes on without a lock.

`_held` is module state because `flock` belongs to the descriptor that `shared_use` opened, and
`exclusive_use` must convert that same lock deep inside a grading.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from grader.errors import GraderError

# The same for all users and for every TMPDIR.
FOLDER = Path("/tmp")
# Longer than any grading of one submission: a process that holds the lock longer hangs.
TIMEOUT_S = 3600.0
_POLL_S = 0.1

_held: dict[str, int | None] = {}  # None where the files cannot be made
# A second thread of this process would release the first one's exclusive lock.
_exclusive = threading.Lock()


@contextlib.contextmanager
def shared_use(uuid: str | None) -> Iterator[None]:
    """Share the GPU in the block with other processes that do not time; None means no GPU."""
    if uuid is None:
        yield
        return
    descriptor = _open(uuid)
    try:
        if descriptor is not None:
            with _queue(uuid, fcntl.LOCK_SH):
                _wait(descriptor, fcntl.LOCK_SH, uuid)
        _held[uuid] = descriptor
        yield
    finally:
        _held.pop(uuid, None)
        if descriptor is not None:
            os.close(descriptor)


@contextlib.contextmanager
def exclusive_use(uuid: str) -> Iterator[bool]:
    """Use the GPU exclusively in the block. Raises KeyError outside a block of `shared_use`.

    Yields whether it had to wait for another process. Threads of this process take turns.
    The shared lock is released first, so that two processes that want exclusive use do not
    deadlock; it is taken again at the end.
    """
    descriptor = _held[uuid]
    if descriptor is None:
        yield False
        return
    with _exclusive:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        with _queue(uuid, fcntl.LOCK_EX) as queued:
            waited = _wait(descriptor, fcntl.LOCK_EX, uuid)
        try:
            yield queued or waited
        finally:
            _wait(descriptor, fcntl.LOCK_SH, uuid)


@contextlib.contextmanager
def _queue(uuid: str, kind: int) -> Iterator[bool]:
    """Hold the queue's lock, LOCK_EX or LOCK_SH; yields whether it had to wait."""
    descriptor = _open(uuid, "queue")
    if descriptor is None:
        yield False
        return
    try:
        yield _wait(descriptor, kind, uuid)
    finally:
        os.close(descriptor)


def _open(uuid: str, ending: str = "lock") -> int | None:
    path = FOLDER / f"gpu-grade-{uuid}.{ending}"
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    # The kernel may refuse O_CREAT for another user's existing file in a sticky folder.
    for more in (0, os.O_CREAT):
        with contextlib.suppress(OSError):
            descriptor = os.open(path, flags | more, 0o666)
            with contextlib.suppress(OSError):  # the owner, another user, did this already
                os.fchmod(descriptor, 0o666)
            return descriptor
    return None


def _wait(descriptor: int, kind: int, uuid: str) -> bool:
    """Wait for a lock; return whether another process had it."""
    deadline_s = time.monotonic() + TIMEOUT_S
    waited = False
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            return waited
        except BlockingIOError:
            if time.monotonic() > deadline_s:
                raise GraderError(
                    f"another grading has kept the GPU {uuid} for {TIMEOUT_S / 60:.0f} minutes",
                    tip="see which process uses it: nvidia-smi",
                ) from None
        waited = True
        time.sleep(_POLL_S)
