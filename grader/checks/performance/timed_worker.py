"""A worker under measurement: load, map buffers, warm up, and time bursts of calls."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from grader.assignment.model import Limits
from grader.build.artifact import Built
from grader.checks.common.diagnosis import Diagnosis, Phase, explain
from grader.checks.performance.buffer_pool import BufferPool
from grader.judge.cpu_affinity import core_of, pinned_to
from grader.judge.outcome import Outcome
from grader.judge.session import Session

TUNING_S = 60.0  # added to the limit of the first call, in which Triton compiles and tunes
# Number of burst pairs of the baseline alone: more if they are short, because these vary more.
_FEWEST_ALONE, _MOST_ALONE = 7, 40
_ALONE_S = 0.3
_WARM_S = 0.03  # of calls before the first measured one
_MOST_WARM_S = 1.0  # including preparation and verification
_LONGEST_BURST_S = 0.03  # slower workers make fewer calls, which are fewer to draw and verify
_SLOW_CALLS = 3  # before a worker counts as slow


class StoppedError(Exception):
    """The measurement cannot continue; `diagnosis` says why."""

    def __init__(self, diagnosis: Diagnosis) -> None:
        super().__init__(diagnosis.message)
        self.diagnosis = diagnosis


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """One exchange: the number of calls, and the judge's seconds for the whole exchange."""

    took_s: float
    calls: int


def per_call_s(single_burst_s: Sequence[float], bursts: Sequence[Burst]) -> float:
    """Return the seconds per call, from bursts of one call and bursts of two or more.

    On a busy machine the difference can be arbitrary, so the result is at least 1 ns.
    """
    one_s = statistics.median(single_burst_s)
    return max(statistics.median((b.took_s - one_s) / (b.calls - 1) for b in bursts), 1e-9)


def overhead_s(single_burst_s: Sequence[float], call_s: float) -> float:
    """Return the seconds of a burst beyond its calls, each of which takes `call_s`."""
    one_s = statistics.median(single_burst_s)
    return min(max(one_s - call_s, 0.0), one_s)


@dataclass(frozen=True, slots=True)
class Timed:
    """A build that is timed, its limits, and what starts a session of it."""

    built: Built
    limits: Limits
    start: Callable[[], Session]


@contextmanager
def loaded_session(timed: Timed) -> Iterator[Session]:
    """Start a session for the block and load what was built; raise StoppedError if it cannot be."""
    with timed.start() as session:
        outcome = session.load()
        if not outcome.done:
            raise StoppedError(explain(outcome, timed.built, timed.limits, Phase.LOADING))
        yield session


class TimedWorker:
    """The worker of a loaded session, with the pool's buffers mapped.

    Raises StoppedError if they cannot be mapped.

    A `trusted` worker runs the baseline: `grade verify` proves its results, so they are not judged
    here, and it may return new tensors where torch offers nothing else. A worker is woken on the
    core of the `other` worker, so that core speed cannot bias the ratio; only one of them works at
    a time.
    """

    def __init__(
        self,
        session: Session,
        built: Built,
        limits: Limits,
        pool: BufferPool,
        *,
        trusted: bool = False,
        other: TimedWorker | None = None,
    ) -> None:
        self._trusted = trusted
        self._other = other
        self._session = session
        self._built = built
        self._limits = limits
        self._pool = pool
        # Most calls of a burst.
        self.most = pool.sets
        # Seconds of the first call beyond a later one.
        self.tuning_s = 0.0
        attached = self._session.attach(self._pool.buffers)
        if not attached.done:
            raise StoppedError(explain(attached, self._built, self._limits, Phase.BETWEEN_CALLS))

    def burst(self, order: Sequence[int], *, more_s: float = 0.0, counts: bool = True) -> float:
        """Return the seconds of one exchange; verify its outputs if it `counts`.

        `order` holds the sets to call, at least one. `more_s` is added to the time limit.
        Raises StoppedError if the exchange fails or an output is wrong.
        """
        pool = self._pool
        pool.refresh(order, self.most if len(order) > 1 else 0)
        prepared = self._prepare(pool.calls(order))
        if not prepared.done:
            raise StoppedError(explain(prepared, self._built, self._limits, Phase.BETWEEN_CALLS))
        early = pool.arm()
        if early is not None:
            raise StoppedError(early)
        wall_s = self._limits.call_s * len(order) + more_s
        started_s = time.perf_counter()
        outcome = self._session.run(wall_s=wall_s)
        sample = pool.sample(order)
        took_s = time.perf_counter() - started_s
        if not outcome.done:
            raise StoppedError(explain(outcome, self._built, self._limits, Phase.CALLING))
        if self._trusted or not counts:
            pool.forget(order)
        elif (wrong := pool.judge(sample)) is not None:
            raise StoppedError(wrong)
        return took_s

    def _prepare(self, calls: bytes) -> Outcome:
        if self._other is None:
            return self._session.prepare(calls)
        with pinned_to(self._session.pid, core_of(self._other._session.pid)):
            return self._session.prepare(calls)

    def warm_up(self, overhead_s: float = 0.0) -> float:
        """Call until the worker is warm; return the least seconds per call.

        The first call is a separate burst: Triton compiles and tunes in it. A slow worker makes
        fewer calls per burst from then on (until `lengthen`).
        """
        started_s = time.perf_counter()
        first_s = self.burst(self._pool.order(1), more_s=TUNING_S)
        call_s = math.inf
        for _ in range(_SLOW_CALLS):
            took_s = self.burst(self._pool.order(1))
            self.tuning_s = max(self.tuning_s, first_s - took_s)
            call_s = min(call_s, took_s - overhead_s)
            self.most = self._fitting(call_s)
            if self.most == self._pool.sets or time.perf_counter() - started_s > _MOST_WARM_S:
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
        """Make bursts longer if twice as many calls of `call_s` fit; return True if so.

        A short burst is mostly overhead, and the rest is noise. So a worker that was slow once, by
        chance or on purpose, does not keep its short bursts.
        """
        most = self._fitting(call_s)
        if most < 2 * self.most:
            return False
        self.most = most
        return True

    def _fitting(self, call_s: float) -> int:
        """Return the number of calls of `call_s` that make a burst."""
        # The overhead follows from the baseline's bursts of one call and of at least two.
        fewest = 2 if self._trusted else 1
        fitting = int(_LONGEST_BURST_S / max(call_s, 1e-9))
        return max(fewest, min(self._pool.sets, fitting))

    def time_alone(self) -> tuple[list[float], float]:
        """Return the seconds of single-call bursts, and the seconds per call without overhead."""
        single_burst_s: list[float] = []
        bursts: list[Burst] = []
        until_s = time.perf_counter() + _ALONE_S
        while len(single_burst_s) < _FEWEST_ALONE or (
            len(single_burst_s) < _MOST_ALONE and time.perf_counter() < until_s
        ):
            single_burst_s.append(self.single_burst().took_s)
            bursts.append(self.timed_burst(self.order()))
        return single_burst_s, per_call_s(single_burst_s, bursts)

    def order(self) -> list[int]:
        """Draw the sets for a burst of up to `most` calls."""
        return self._pool.order(self.most)

    def single_burst(self) -> Burst:
        """Time a burst of a single call."""
        return self.timed_burst(self._pool.order(1))

    def timed_burst(self, order: Sequence[int]) -> Burst:
        """Time a burst of calls on these sets."""
        return Burst(took_s=self.burst(order), calls=len(order))
