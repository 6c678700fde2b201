"""Two workers that take turns, on one core: where one runs must not decide how fast it is.

A worker stays on the core that it began on, as long as that is free when it is
woken, and cores are not equally fast: a neighbour of the machine may use one's
other half, or memory be further from it. Two that never work at the same time
lose nothing by sharing one (docs/decisions/rounds.md).
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
def waking_on(pid: int, core: int | None) -> Iterator[None]:
    """Have a worker that is woken in the block wake up on this core.

    A sleeping process is moved only when it wakes, hence the block. Afterwards
    it may run anywhere again, and so may all threads that it starts then. A core
    that is None or that it may not use changes nothing, nor does its end.
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
