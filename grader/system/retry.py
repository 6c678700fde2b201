"""Patience with a machine that has no room for another process or thread at the moment.

A fork flood elsewhere, which somebody else is about to end, makes the kernel
refuse what a grading needs to start. `patiently` tries again for some seconds;
`Pool` is a thread pool that does.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from grader.errors import GraderError

PATIENCE_S = 5.0
_FIRST_WAIT_S = 0.02
_LONGEST_WAIT_S = 0.5
# EAGAIN: a limit on processes. ENOMEM: no memory for another one.
_REFUSALS = frozenset({errno.EAGAIN, errno.ENOMEM})
_Result = TypeVar("_Result")
_Asked = ParamSpec("_Asked")


def refused(error: Exception) -> bool:
    """True if the kernel refused a process or a thread for want of room."""
    if isinstance(error, OSError):
        return error.errno in _REFUSALS
    return isinstance(error, RuntimeError) and "can't start new thread" in str(error)


def patiently(start: Callable[[], _Result]) -> _Result:
    """Call `start`, again and again while the machine has no room for what it starts.

    Raises GraderError if there is still none after some seconds. Whatever else
    `start` raises goes on.
    """
    deadline_s = time.monotonic() + PATIENCE_S
    wait_s = _FIRST_WAIT_S
    while True:
        try:
            return start()
        except (OSError, RuntimeError) as error:
            if not refused(error):
                raise
            if time.monotonic() + wait_s > deadline_s:
                raise no_room() from error
        time.sleep(wait_s)
        wait_s = min(2 * wait_s, _LONGEST_WAIT_S)


def no_room() -> GraderError:
    """Return the error that says so."""
    return GraderError(
        "this machine has no room for more processes: for some seconds it refused to start one",
        tip="end what fills it (`ps -eL | wc -l` counts processes and threads), or raise the "
        "limit: `ulimit -u`, or pids.max of the container",
    )


class Pool(ThreadPoolExecutor):
    """A thread pool that is patient when it starts a thread.

    A pool that has a thread does without another one: the work only waits.
    `first` is done ahead of each piece of work, by the same thread: it should
    take its time once only. What it raises, the piece of work raises.
    """

    def __init__(
        self,
        max_workers: int,
        thread_name_prefix: str = "",
        *,
        first: Callable[[], object] | None = None,
    ) -> None:
        super().__init__(max_workers, thread_name_prefix)
        self._first = first

    def submit(
        self, fn: Callable[_Asked, _Result], /, *args: _Asked.args, **kwargs: _Asked.kwargs
    ) -> Future[_Result]:
        """Have a thread call `fn`, after `first`."""
        first = self._first
        if first is None:
            return super().submit(fn, *args, **kwargs)

        def both() -> _Result:
            first()
            return fn(*args, **kwargs)

        return super().submit(both)

    def _adjust_thread_count(self) -> None:
        # In `submit`, after the work was queued: `submit` again would do it twice.
        try:
            super()._adjust_thread_count()
        except RuntimeError as error:
            if not refused(error):
                raise
            if not self._threads:
                patiently(super()._adjust_thread_count)
