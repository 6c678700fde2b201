"""One side of a measurement: a loaded worker, its bursts, and what it takes to warm it."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from grader.assignment.model import Limits
from grader.build.artifact import Built
from grader.checks.common.diagnosis import Diagnosis, Doing, explain
from grader.checks.performance.buffer_pool import BufferPool
from grader.judge.cpu_affinity import core_of, waking_on
from grader.judge.outcome import Outcome
from grader.judge.session import Session

TUNING_S = 60.0  # for the first call, in which Triton compiles and tunes
# Pairs of bursts alone: some, and more where they are short, for they vary more.
_FEWEST_ALONE, _MOST_ALONE = 7, 40
_ALONE_S = 0.3
_WARM_S = 0.03  # of calls before the first that counts
_MOST_WARM_S = 1.0  # with all that stands around them
_LONGEST_BURST_S = 0.05  # who is slow makes fewer calls: fewer to draw and to verify
_SLOW_CALLS = 3  # that a side makes before it is taken to be slow


class StoppedError(Exception):
    """The measurement cannot go on; `diagnosis` says why."""

    def __init__(self, diagnosis: Diagnosis) -> None:
        super().__init__(diagnosis.message)
        self.diagnosis = diagnosis


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """One exchange: so many calls, and the judge's seconds for all of it."""

    took_s: float
    calls: int


def per_call_s(ones: Sequence[float], several: Sequence[Burst]) -> float:
    """Return a call's seconds, from bursts of one call and bursts of two or more.

    On a machine that is busy with other things the difference may be anything:
    then it is next to nothing, not less.
    """
    one_s = statistics.median(ones)
    return max(statistics.median((b.took_s - one_s) / (b.calls - 1) for b in several), 1e-9)


def overhead_s(ones: Sequence[float], call_s: float) -> float:
    """Return what a burst takes beside its calls, of which each takes `call_s`."""
    one_s = statistics.median(ones)
    return min(max(one_s - call_s, 0.0), one_s)


class TimedWorker:
    """One side: a loaded worker with the field's buffers before its eyes.

    A `trusted` one is ours: what it computes is proven elsewhere (`grade
    verify`), and it may return new tensors where torch has no other way. Its
    worker goes to the core of the `other` side's, as the two never work at once.
    """

    def __init__(
        self,
        session: Session,
        built: Built,
        limits: Limits,
        field: BufferPool,
        *,
        trusted: bool = False,
        other: TimedWorker | None = None,
    ) -> None:
        self._trusted = trusted
        self._other = other
        self._session = session
        self._built = built
        self._limits = limits
        self._field = field
        # Calls of a burst, at most.
        self.most = field.sets
        # What the first call took beyond a later one.
        self.tuning_s = 0.0

    def open(self) -> None:
        """Load the hand-in and show it the buffers."""
        loaded = self._session.load()
        if not loaded.done:
            raise StoppedError(explain(loaded, self._built, self._limits, Doing.LOADING))
        attached = self._session.attach(self._field.buffers)
        if not attached.done:
            raise StoppedError(explain(attached, self._built, self._limits, Doing.BETWEEN))

    def burst(self, order: Sequence[int], *, more_s: float = 0.0, counts: bool = True) -> float:
        """Time one exchange, in seconds, and verify what came of it if it counts.

        `order` holds the sets to call, one at least. `more_s` is added to the
        limit.
        """
        field = self._field
        field.refresh(order, self.most if len(order) > 1 else 0)
        prepared = self._prepare(field.calls(order))
        if not prepared.done:
            raise StoppedError(explain(prepared, self._built, self._limits, Doing.BETWEEN))
        early = field.arm()
        if early is not None:
            raise StoppedError(early)
        wall_s = self._limits.call_s * len(order) + more_s
        started_s = time.perf_counter()
        outcome = self._session.run(wall_s=wall_s)
        sample = field.sample(order)
        took_s = time.perf_counter() - started_s
        if not outcome.done:
            raise StoppedError(explain(outcome, self._built, self._limits, Doing.CALLING))
        if self._trusted or not counts:
            field.forget(order)
        elif (wrong := field.judge(sample)) is not None:
            raise StoppedError(wrong)
        return took_s

    def _prepare(self, calls: bytes) -> Outcome:
        if self._other is None:
            return self._session.prepare(calls)
        with waking_on(self._session.pid, core_of(self._other._session.pid)):
            return self._session.prepare(calls)

    def warm_up(self, overhead_s: float = 0.0) -> float:
        """Call until it is warm; return a call's seconds, at best.

        The first call is one by itself: Triton compiles and tunes in it. Who
        is slow makes fewer calls a burst from then on (until `lengthen`).
        """
        started_s = time.perf_counter()
        first_s = self.burst(self._field.order(1), more_s=TUNING_S)
        call_s = math.inf
        for _ in range(_SLOW_CALLS):
            took_s = self.burst(self._field.order(1))
            self.tuning_s = max(self.tuning_s, first_s - took_s)
            call_s = min(call_s, took_s - overhead_s)
            self.most = self._fitting(call_s)
            if self.most == self._field.sets or time.perf_counter() - started_s > _MOST_WARM_S:
                break
        called_s = 0.0
        while called_s < _WARM_S:
            order = self.order()
            took_s = self.burst(order, counts=False)
            called_s += took_s
            call_s = min(call_s, (took_s - overhead_s) / len(order))
            if time.perf_counter() - started_s > _MOST_WARM_S:
                break
        self.lengthen(call_s)
        return max(call_s, 1e-9)

    def lengthen(self, call_s: float) -> bool:
        """Make more calls a burst if, at `call_s` each, twice as many fit; return whether they do.

        Of a short burst the overhead is most, and what is left of it is noise. So
        who was slow once, by chance or to be timed so, is not timed so for long.
        """
        most = self._fitting(call_s)
        if most < 2 * self.most:
            return False
        self.most = most
        return True

    def _fitting(self, call_s: float) -> int:
        """Return how many calls of so many seconds make a burst."""
        # From the baseline's bursts of one call and of more the overhead is told.
        fewest = 2 if self._trusted else 1
        fitting = int(_LONGEST_BURST_S / max(call_s, 1e-9))
        return max(fewest, min(self._field.sets, fitting))

    def alone(self) -> tuple[list[float], float]:
        """Return bursts of one call, and a call's seconds without what stands around it."""
        ones: list[float] = []
        several: list[Burst] = []
        until_s = time.perf_counter() + _ALONE_S
        while len(ones) < _FEWEST_ALONE or (
            len(ones) < _MOST_ALONE and time.perf_counter() < until_s
        ):
            ones.append(self.one().took_s)
            several.append(self.timed(self.order()))
        return ones, per_call_s(ones, several)

    def order(self) -> list[int]:
        """Draw the sets for a burst of as many calls as the side makes."""
        return self._field.order(self.most)

    def one(self) -> Burst:
        """Time a burst of a single call."""
        return self.timed(self._field.order(1))

    def timed(self, order: Sequence[int]) -> Burst:
        """Time a burst of calls on these sets."""
        return Burst(took_s=self.burst(order), calls=len(order))


@contextmanager
def open_timed_worker(
    start: Callable[[], Session],
    built: Built,
    limits: Limits,
    field: BufferPool,
    *,
    trusted: bool = False,
    other: TimedWorker | None = None,
) -> Iterator[TimedWorker]:
    """Start a worker, load what was built and show it the field's buffers.

    Raises StoppedError if it cannot be loaded.
    """
    with start() as session:
        side = TimedWorker(session, built, limits, field, trusted=trusted, other=other)
        side.open()
        yield side
