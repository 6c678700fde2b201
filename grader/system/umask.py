"""While the judge works, what it makes is for nobody else to read: umask 077.

That holds for scratch folders, boxes, builds and the cache, and is a second
lock beside the rights that each of them has. A result that is written
meanwhile is the user's own and goes by the user's own umask.

The umask belongs to the process, not to a thread: the first to begin sets it,
the last to end puts it back.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_OWN = 0o077
_lock = threading.Lock()
_judging = 0
_users = 0


@contextmanager
def private_files() -> Iterator[None]:
    """Let files made in the block be readable by their owner alone."""
    global _judging, _users
    with _lock:
        if _judging == 0:
            _users = os.umask(_OWN)
        _judging += 1
    try:
        yield
    finally:
        with _lock:
            _judging -= 1
            if _judging == 0:
                os.umask(_users)


def give_to_user(descriptor: int) -> None:
    """Give a file that was just made the rights that it has outside of `private_files`."""
    with _lock:
        if _judging:
            os.fchmod(descriptor, 0o666 & ~_users)
