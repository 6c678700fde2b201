"""Wake baseline and submission on the same core, so that core speed cannot bias the ratio.

The scheduler wakes a worker on its previous core if that is free, and cores are not equally fast:
another process may use a core's sibling hyperthread, or its memory may be further away. Two
workers that never run at the same time lose nothing by sharing a core (docs/decisions/rounds.md).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import psutil


def core_of(pid: int) -> int | None:
    """Return the core on which a process ran last; None if it has ended."""
    try:
        return int(psutil.Process(pid).cpu_num())
    except psutil.Error:
        return None


@contextlib.contextmanager
def pinned_to(pid: int, core: int | None) -> Iterator[None]:
    """Pin a process to `core` in the block, so that it wakes up there.

    The scheduler moves a sleeping process only when it wakes, hence the block. Afterwards the
    process, and every thread that it starts then, may run on any core again. Nothing changes if
    `core` is None or not permitted, or if the process has ended.
    """
    allowed: set[int] | None = None
    with contextlib.suppress(OSError):
        before = os.sched_getaffinity(pid)
        if core in before and core_of(pid) != core:
            os.sched_setaffinity(pid, {core})
            allowed = before
    try:
        yield
    finally:
        if allowed is not None:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(pid, allowed)
