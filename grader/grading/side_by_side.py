"""Run the steps of a grading in threads, side by side where no step waits for another.

    main thread         waits, and calls `on_done` after each step; signals reach it only
    checking threads    each takes the first step that may start, until none is left

The steps are in the order in which one thread would run them. A step may start when no earlier step
that it waits for waits or runs, and when not too many others of its kind run. A thread ends when no
step is left that it could start, so that it outlives every program that it spawned: the kernel ends
a program with its thread.

If the main thread is interrupted, no further step starts, and the programs of running steps are
killed until the threads have ended. Threads that staff code holds longer than that are left behind.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from grader.system import process_tree
from grader.system.retry import retry_start

_STOP_S = 10.0
_KILL_AGAIN_S = 0.02


S = TypeVar("S")


def run_side_by_side(
    steps: Sequence[S],
    threads: int,
    run: Callable[[S], None],
    *,
    waits_for: Callable[[S, S], bool] = lambda step, earlier: False,
    crowded: Callable[[S, Sequence[S]], bool] = lambda step, running: False,
    on_done: Callable[[], None] = lambda: None,
) -> None:
    """Run all steps in up to `threads` threads, in the main thread if that is one.

    A step does not start while an `earlier` one that it waits for has not ended, or while the
    `running` steps make it `crowded`, which must be false if none runs. Raises what a
    step raises; then no further step starts.
    """
    if min(threads, len(steps)) <= 1:
        for step in steps:
            run(step)
            on_done()
        return
    work = _Work(steps, run, waits_for, crowded)
    try:
        work.start(threads)
        while work.wait():
            on_done()
    except BaseException:
        try:
            on_done()  # for a step that ended just before; a step that is stopped has no result
        finally:
            work.stop()
        raise
    if work.error is not None:
        raise work.error
    on_done()


class _Work(Generic[S]):
    """The steps that wait and run, shared by the threads."""

    def __init__(
        self,
        steps: Sequence[S],
        run: Callable[[S], None],
        waits_for: Callable[[S, S], bool],
        crowded: Callable[[S, Sequence[S]], bool],
    ) -> None:
        self.error: BaseException | None = None
        self._waiting = list(steps)
        self._running: list[S] = []
        self._run = run
        self._waits_for = waits_for
        self._crowded = crowded
        self._changed = threading.Condition()
        self._ended = self._seen = 0  # numbers of steps
        self._threads: list[threading.Thread] = []

    def start(self, threads: int) -> None:
        """Start the threads."""
        for number in range(min(threads, len(self._waiting))):
            # A daemon: a thread that cannot be stopped must not keep the process alive.
            thread = threading.Thread(target=self._work, name=f"check-{number}", daemon=True)
            retry_start(thread.start)
            self._threads.append(thread)

    def wait(self) -> bool:
        """Wait until another step has ended; False if all have ended, or one has failed."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended > self._seen or self._over)
            self._seen = self._ended
            return not self._over

    @property
    def _over(self) -> bool:
        return not self._running and (self.error is not None or not self._waiting)

    def stop(self) -> None:
        """Start no further step, and kill programs until the threads have ended."""
        with self._changed:
            self._waiting.clear()
            self._changed.notify_all()
        deadline_s = time.monotonic() + _STOP_S
        while any(thread.is_alive() for thread in self._threads):
            # Repeatedly, because a step may be about to start its next program.
            process_tree.kill_all()
            time.sleep(_KILL_AGAIN_S)
            if time.monotonic() > deadline_s:
                return

    def _work(self) -> None:
        while (step := self._next()) is not None:
            error = None
            try:
                self._run(step)
            except BaseException as raised:
                error = raised
            with self._changed:
                self._running.remove(step)
                self._ended += 1
                if error is not None:
                    self.error = self.error or error
                    self._waiting.clear()
                self._changed.notify_all()

    def _next(self) -> S | None:
        """Wait for a step that may start, and take it; None if none is left."""
        with self._changed:
            while self._waiting:
                step = next(filter(self._may_start, self._waiting), None)
                if step is not None:
                    self._waiting.remove(step)
                    self._running.append(step)
                    return step
                self._changed.wait()
            return None

    def _may_start(self, step: S) -> bool:
        if self._crowded(step, self._running):
            return False
        before = self._waiting[: self._waiting.index(step)]
        return not any(self._waits_for(step, other) for other in (*self._running, *before))
