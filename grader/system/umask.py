"""Umask 077 while the judge works, so that no other user can read what it makes.

This protects scratch folders, builds and the cache, in addition to the mode that each of them is
made with. A result file that is written meanwhile gets the user's own umask.

The umask belongs to the process, not to a thread, and so does the state here: the first thread
that enters sets it, the last one that leaves restores it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_PRIVATE = 0o077
_lock = threading.Lock()
_entered = 0
_user_umask = 0


@contextmanager
def private_files() -> Iterator[None]:
    """Make files created in the block readable by their owner only."""
    global _entered, _user_umask
    with _lock:
        if _entered == 0:
            _user_umask = os.umask(_PRIVATE)
        _entered += 1
    try:
        yield
    finally:
        with _lock:
            _entered -= 1
            if _entered == 0:
                os.umask(_user_umask)


def apply_user_umask(descriptor: int) -> None:
    """Give a new file the mode that it would have outside of `private_files`."""
    with _lock:
        if _entered:
            os.fchmod(descriptor, 0o666 & ~_user_umask)
