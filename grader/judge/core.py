"""Two workers that take turns, on one core: where one runs must not decide how fast it is.

A worker stays on the core that it began on, as long as that is free when it is
woken, and cores are not equally fast: a neighbour of the machine may use one's
other half, or memory be further from it. Two that never work at the same time
lose nothing by sharing one.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import psutil


@contextlib.contextmanager
def waking_beside(pid: int, other: int) -> Iterator[None]:
    """Have a worker that is woken in the block wake up on the core where another one ran last.

    A sleeping process is moved only when it wakes, hence the block. Afterwards
    it may run anywhere again, and so may all threads that it starts then. A core
    that it may not use, or an end of one of the two, changes nothing.
    """
    allowed: set[int] | None = None
    with contextlib.suppress(OSError, psutil.Error):
        core = psutil.Process(other).cpu_num()
        if psutil.Process(pid).cpu_num() != core:
            before = os.sched_getaffinity(pid)
            if core in before:
                os.sched_setaffinity(pid, {core})
                allowed = before
    try:
        yield
    finally:
        if allowed is not None:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(pid, allowed)
