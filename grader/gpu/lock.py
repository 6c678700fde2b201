"""Who may use a GPU now: many to check, one to time, across all processes of a machine.

A file for each GPU, named by its UUID, is locked by `flock`: shared while a
hand-in is graded, exclusively while one is timed. Whoever waits to be alone holds
a second file, the queue, which all must pass who want to share: else those that
come and go would keep him waiting as long as there are some. The kernel gives a
lock back when its holder dies. `grade local` and `grade batch`, of any user, take
the same files; a machine where they cannot be made grades without turns.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from grader.errors import GraderError

# The same for all users and for every TMPDIR.
FOLDER = Path("/tmp")
# Longer than any grading of one hand-in: whoever holds it then has hung.
PATIENCE_S = 3600.0
_POLL_S = 0.1

_held: dict[str, int] = {}


@contextlib.contextmanager
def sharing(uuid: str | None) -> Iterator[None]:
    """Use the GPU beside others in the block, and with none that times; None is no GPU."""
    descriptor = None if uuid is None else _open(uuid)
    if uuid is None or descriptor is None:
        yield
        return
    try:
        with _queue(uuid, fcntl.LOCK_SH):
            _wait(descriptor, fcntl.LOCK_SH, uuid)
        _held[uuid] = descriptor
        yield
    finally:
        _held.pop(uuid, None)
        os.close(descriptor)


@contextlib.contextmanager
def alone(uuid: str) -> Iterator[None]:
    """Have the GPU for oneself in the block, which lies within one that shares it.

    The share is given up first, so that two that want to be alone do not wait
    for each other; it is taken again at the end.
    """
    descriptor = _held.get(uuid)
    if descriptor is None:  # no turns here
        yield
        return
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    with _queue(uuid, fcntl.LOCK_EX):
        _wait(descriptor, fcntl.LOCK_EX, uuid)
    try:
        yield
    finally:
        _wait(descriptor, fcntl.LOCK_SH, uuid)


@contextlib.contextmanager
def _queue(uuid: str, kind: int) -> Iterator[None]:
    """Stand in the queue in the block: alone in it for LOCK_EX, beside others for LOCK_SH."""
    descriptor = _open(uuid, "queue")
    if descriptor is None:
        yield
        return
    try:
        _wait(descriptor, kind, uuid)
        yield
    finally:
        os.close(descriptor)


def _open(uuid: str, ending: str = "lock") -> int | None:
    path = FOLDER / f"gpu-grade-{uuid}.{ending}"
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    # Another user's file in a sticky folder may be opened, but not as one to be created.
    for more in (0, os.O_CREAT):
        with contextlib.suppress(OSError):
            descriptor = os.open(path, flags | more, 0o666)
            with contextlib.suppress(OSError):  # another user's, who did this already
                os.fchmod(descriptor, 0o666)
            return descriptor
    return None


def _wait(descriptor: int, kind: int, uuid: str) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline_s:
                raise GraderError(
                    f"another grading has kept the GPU {uuid} for {PATIENCE_S / 60:.0f} minutes",
                    tip="see which process uses it: nvidia-smi",
                ) from None
            time.sleep(_POLL_S)
        else:
            return
