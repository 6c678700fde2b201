"""The time that a program itself takes, which is what a time limit counts.

    wall time = processor time + time in the queue for a processor + idle time

On a machine that is busy with other programs a program queues: that time is not its own. Idle time
is its own: it sleeps, or waits for a lock, a disk or a GPU. A program that queues behind threads of
its own, on all processors of the machine, gains nothing, because their processor time counts.

All figures are the kernel's, of the program and all its descendants, so that the program cannot
forge them. They are read twice a second; a program that ends earlier costs nothing. If the judge
itself gets no processor and reads them late for the first time, what is beyond counts as queueing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grader.system import process_tree

SAMPLE_S = 0.5
# The first sample may be so late.
_LATE_S = SAMPLE_S
# Times a limit: a machine that is busier is overloaded, and a grading must end some day.
_MOST_QUEUED = 30.0
# Of a limit: with less processor time the program may have waited for something else.
_BURNT = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """How a program spent its time. `compiled_s` of it has a budget of its own.

    Time before the first sample counts as processor time.
    """

    wall_s: float = 0.0
    processor_s: float = 0.0
    queued_s: float = 0.0
    compiled_s: float = 0.0

    @property
    def _processor_s(self) -> float:
        return max(0.0, self.processor_s - self.compiled_s)

    @property
    def idle_s(self) -> float:
        """Seconds in which it neither ran nor queued."""
        return max(0.0, self.wall_s - self.queued_s - self.compiled_s - self._processor_s)

    def left_s(self, limit_s: float) -> float:
        """Return how much of a limit is left; 0 or less if it is used up."""
        charged_s = self.wall_s - self.compiled_s
        if self._processor_s < limit_s:
            charged_s -= min(self.queued_s, _MOST_QUEUED * limit_s)
        return limit_s - charged_s

    def waited(self, limit_s: float) -> bool:
        """True if it used up a limit mostly idle, for which the machine may be the cause."""
        return self._processor_s < _BURNT * limit_s


class OwnTime:
    """Measures the time of `members`, the processes of a program, from now on."""

    def __init__(self, members: Callable[[], Sequence[int]]) -> None:
        self._members = members
        self._started_s = time.monotonic()
        self._before_s: float | None = None
        self._queued: dict[int, float] = {}
        self.spent = Spent()

    @property
    def wall_s(self) -> float:
        """Seconds so far."""
        return time.monotonic() - self._started_s

    def sample(self, compiled_s: float = 0.0) -> Spent:
        """Return the time so far; `compiled_s` of it has a budget of its own."""
        last, wall_s, pids = self.spent, self.wall_s, self._members()
        processor_s, queued = process_tree.processor_s(pids), process_tree.queued_s(pids)
        if self._before_s is None:
            waited_s = max(0.0, wall_s - SAMPLE_S - _LATE_S)
            self._before_s = processor_s - (wall_s - waited_s)
        else:
            waited_s = sum(max(0.0, s - self._queued.get(id_, 0.0)) for id_, s in queued.items())
        self._queued = queued
        self.spent = Spent(
            wall_s=wall_s,
            # The time of processes that nobody has waited for disappears with them.
            processor_s=max(last.processor_s, processor_s - self._before_s),
            queued_s=last.queued_s + min(waited_s, wall_s - last.wall_s),
            compiled_s=compiled_s,
        )
        return self.spent
