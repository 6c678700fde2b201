"""Retry the start of a process or thread that the kernel refuses for the moment.

A fork bomb in another grading makes the kernel refuse new processes until that grading's judge
kills it. `retry_start` retries for some seconds; `Pool` is a thread pool that does the same.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from grader.errors import GraderError

RETRY_S = 5.0
_FIRST_WAIT_S = 0.02
_LONGEST_WAIT_S = 0.5
# EAGAIN: a limit on processes. ENOMEM: no memory for another one.
_REFUSALS = frozenset({errno.EAGAIN, errno.ENOMEM})
_Result = TypeVar("_Result")
_Parameters = ParamSpec("_Parameters")


def refused(error: Exception) -> bool:
    """True if the kernel refused a process or a thread for lack of resources."""
    if isinstance(error, OSError):
        return error.errno in _REFUSALS
    return isinstance(error, RuntimeError) and "can't start new thread" in str(error)


def retry_start(start: Callable[[], _Result]) -> _Result:
    """Call `start`, and retry while the kernel refuses the process or thread that it starts.

    Raises GraderError if the kernel still refuses after RETRY_S. Other exceptions propagate.
    """
    deadline_s = time.monotonic() + RETRY_S
    wait_s = _FIRST_WAIT_S
    while True:
        try:
            return start()
        except (OSError, RuntimeError) as error:
            if not refused(error):
                raise
            if time.monotonic() + wait_s > deadline_s:
                raise GraderError(
                    f"this machine refused to start a process for {RETRY_S:g} s",
                    tip="end other processes (`ps -eL | wc -l` counts processes and threads), or "
                    "raise the limit: `ulimit -u`, or pids.max of the container",
                ) from error
        time.sleep(wait_s)
        wait_s = min(2 * wait_s, _LONGEST_WAIT_S)


class Pool(ThreadPoolExecutor):
    """A thread pool that retries when the kernel refuses it a thread.

    If the pool already has a thread, it does not retry, and the work waits for that thread. Before
    each piece of work the same thread calls `first`, which should be slow at most once; an
    exception of `first` becomes the exception of the work.
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
        self,
        fn: Callable[_Parameters, _Result],
        /,
        *args: _Parameters.args,
        **kwargs: _Parameters.kwargs,
    ) -> Future[_Result]:
        """Have a thread call `first` and then `fn`."""
        first = self._first
        if first is None:
            return super().submit(fn, *args, **kwargs)

        def both() -> _Result:
            first()
            return fn(*args, **kwargs)

        return super().submit(both)

    def _adjust_thread_count(self) -> None:
        # `submit` calls this after it queued the work: a second `submit` would do the work twice.
        try:
            super()._adjust_thread_count()
        except RuntimeError as error:
            if not refused(error):
                raise
            if not self._threads:
                retry_start(super()._adjust_thread_count)
