"""Measure how fast a submission is relative to torch, by the judge's own clock.

    judge                                   worker (baseline or submission)
     fresh inputs, poisoned outputs, arguments laid out
     clock starts ── "run the calls" ─────→  launches them all, waits once
     clock stops  ←── "done" ───────────────
       … after the judge has read cells of the outputs by itself
     every output of the burst is verified

A burst is one such exchange: calls on most sets of buffers, in random number and order. A round
is one burst of each worker, in random order, and one burst of a single baseline call; it gives one
ratio. Many short rounds are better than a few long ones: an interruption between the clock and the
kernels spoils one round of many, and the median ignores it (docs/decisions/rounds.md).

    T(m calls) = overhead + m · call

The overhead (messages, launching, the GPU's context switch, the judge's read) is the same for both
workers. It follows from the baseline's bursts of one call and of many calls, and is subtracted for
both. It never comes from the submission's bursts: a submission that is slow in short bursts only
would profit.

Both workers are woken on the same core, because cores are not equally fast.

The baseline worker runs the oracle's `baseline` in the same build, and stays for all benchmarks of
a kernel. It is timed alone before the submission's worker exists, and again beside it. The two
figures must agree: what disturbs the baseline disturbs the measurement.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TypeVar

from grader.assignment.model import Limits
from grader.build.artifact import Built
from grader.checks.common.case_run import out_of_memory_diagnosis
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.performance.buffer_pool import BufferPool
from grader.checks.performance.timed_worker import (
    Burst,
    StoppedError,
    Timed,
    TimedWorker,
    loaded_session,
    overhead_s,
    per_call_s,
)
from grader.errors import GraderError
from grader.judge.gpu_out_of_memory import GpuOutOfMemoryError, gpu_errors
from grader.judge.python_server import PythonServer
from grader.judge.session import Session
from grader.report.verdict import Verdict
from grader.timing.decision import NOISE
from grader.timing.estimate import Estimate, estimate, fewest_rounds

MOST_ROUNDS = 400
# Largest accepted growth of a burst's overhead beside the submission's worker, relative to alone.
# A second worker costs that much; a submission must not profit from a larger overhead.
_MOST_OVERHEAD_GROWTH = 1.25
_GIVE_UP_ROUNDS = 18  # once the time is over, stop after so many, however few were kept
# A submission whose call exceeds both limits (seconds, multiple of torch's time) is not timed.
_FAR_TOO_SLOW_S, _FAR_TOO_SLOW_RATIO = 1.0, 20
_SKIPPED_MOST = 0.5  # share of rounds that may be discarded for throttling
_RUN_S = 60.0  # limit for a call of the trusted baseline
BASELINE_LIMITS = Limits(call_s=_RUN_S, load_s=_RUN_S, memory_mib=1 << 20)
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftTolerance:
    """How far torch's time beside the submission may differ from its time alone, as shares of it.

    `slower` bounds what a submission can gain by hogging the machine; `faster` is drift, which
    helps no submission. With `retime_alone`, torch is timed alone again when the submission's
    worker has ended, and everything between the two figures counts as drift.
    """

    slower: float
    faster: float
    retime_alone: bool = False


# A submission that hogs the GPU gains at most what every student is granted for noise.
DRIFT_TOLERANCE = DriftTolerance(slower=NOISE, faster=0.1)
# Torch's time drifts where it reads host memory, also beside an honest submission
# (0.83 to 1.20 times the earlier figure on an H200; docs/decisions/host-memory.md).
HOST_DRIFT_TOLERANCE = DriftTolerance(slower=0.2, faster=0.25, retime_alone=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One round: seconds per call, without the overhead of its bursts."""

    baseline_s: float
    submission_s: float

    @property
    def ratio(self) -> float:
        """The speedup of this round."""
        return self.baseline_s / self.submission_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The rounds of one benchmark and their estimate `found`, or the `failure` if it is no proof.

    `tuning_s` is the time that the submission's first call took beyond a later one: it compiles
    and tunes then.
    """

    rounds: tuple[Round, ...] = ()
    found: Estimate | None = None
    failure: Diagnosis | None = None
    alone_s: float = 0.0
    overhead_s: float = 0.0
    calls_per_round: int = 0
    discarded: int = 0
    tuning_s: float = 0.0

    @property
    def rounds_ratios(self) -> tuple[float, ...]:
        """The speedup of every round, in the order of timing."""
        return tuple(one.ratio for one in self.rounds)


def measure(
    pool: BufferPool,
    submission: Timed,
    baseline: Built,
    baseline_session: Session,
    *,
    budget_s: float,
    throttled: Callable[[], Sequence[str]],
    first: Callable[[], bool],
    enough: Callable[[Sequence[Round]], bool],
    tolerance: DriftTolerance = DRIFT_TOLERANCE,
) -> Measured:
    """Measure one benchmark, beside the loaded session of the baseline.

    `throttled` returns the reasons why the GPU is slower at this moment than it could be; `first`
    draws whether the baseline begins a round. Rounds continue until `enough` accepts
    them or `budget_s` is spent, not counting the time in which the submission compiles and
    tunes. A slow GPU may take longer: there are always as many rounds as an interval needs.
    """
    deadline_s = time.monotonic() + budget_s
    collecting = gc.isenabled()
    gc.disable()  # a collection can start at any moment and takes milliseconds
    try:
        baseline_worker = _baseline_step(
            lambda: TimedWorker(baseline_session, baseline, BASELINE_LIMITS, pool, trusted=True)
        )
        _baseline_step(baseline_worker.warm_up)
        begun_s = time.monotonic()
        single_burst_s, alone_s = _baseline_step(baseline_worker.time_alone)
        if tolerance.retime_alone:
            deadline_s -= time.monotonic() - begun_s
        try:
            with gpu_errors(), loaded_session(submission) as own:
                worker = TimedWorker(
                    own, submission.built, submission.limits, pool, other=baseline_worker
                )
                call_s = worker.warm_up(overhead_s(single_burst_s, alone_s))
                if call_s > max(_FAR_TOO_SLOW_S, _FAR_TOO_SLOW_RATIO * alone_s):
                    return Measured(failure=_far_too_slow(call_s, alone_s))
                rounds = _Rounds(baseline_worker, worker, single_burst_s, alone_s)
                rounds.take(deadline_s + worker.tuning_s, throttled, first, enough)
        except GpuOutOfMemoryError:
            # The worker has ended: if the memory is free now, the submission held it.
            return Measured(
                failure=out_of_memory_diagnosis(submission.built, lambda: pool.refresh([0]))
            )
        if tolerance.retime_alone:
            rounds.set_alone_after(_baseline_step(baseline_worker.time_alone)[1])
        return rounds.measured(tolerance)
    except StoppedError as stopped:
        return Measured(failure=stopped.diagnosis)
    finally:
        if collecting:
            gc.enable()
        baseline_session.detach()


@contextmanager
def loaded_baseline(built: Built, server: PythonServer | None) -> Iterator[Session]:
    """Start a session of the baseline for the block, with the baseline loaded."""
    with ExitStack() as ending:
        timed = Timed(built, BASELINE_LIMITS, lambda: Session(built, BASELINE_LIMITS, server))
        yield _baseline_step(lambda: ending.enter_context(loaded_session(timed)))


def _far_too_slow(call_s: float, alone_s: float) -> Diagnosis:
    return Diagnosis(
        Verdict.TOO_SLOW,
        f"a call takes {call_s:.1f} s, and torch's {alone_s * 1e3:.3g} ms",
        hint="is the work distributed over threads and blocks?",
    )


def _baseline_step(step: Callable[[], _Result]) -> _Result:
    """Run a step of the baseline, whose failure is a GraderError."""
    try:
        return step()
    except StoppedError as stopped:
        raise GraderError(f"the baseline failed: {stopped.diagnosis.message}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class _RawRound:
    """One round as timed: a single baseline call, and a burst of each worker."""

    one_s: float
    baseline: Burst
    submission: Burst


class _Rounds:
    """The rounds of two warm workers."""

    def __init__(
        self,
        baseline_worker: TimedWorker,
        worker: TimedWorker,
        single_burst_s: Sequence[float],
        alone_s: float,
    ) -> None:
        self._baseline_worker, self._worker = baseline_worker, worker
        self._single_burst_s = tuple(single_burst_s)
        self._alone_s = self._alone_after_s = alone_s
        self._kept: list[_RawRound] = []
        self._discarded = 0

    def take(
        self,
        deadline_s: float,
        throttled: Callable[[], Sequence[str]],
        first: Callable[[], bool],
        enough: Callable[[Sequence[Round]], bool],
    ) -> None:
        """Time rounds until there are enough, or the next one would end after `deadline_s`."""
        walls_s: list[float] = []
        while len(self._kept) < MOST_ROUNDS:
            begun_s = time.monotonic()
            round_ = self._round(first())
            if self._lengthened(round_.submission):
                self._kept.clear()
            elif throttled():
                self._discarded += 1
            else:
                self._kept.append(round_)
            now_s = time.monotonic()
            walls_s.append(now_s - begun_s)
            over = now_s + statistics.median(walls_s) > deadline_s
            rounds = self._rounds()
            if len(rounds) >= fewest_rounds() and (over or enough(rounds)):
                return
            if over and self._discarded > _SKIPPED_MOST * (self._discarded + len(self._kept)):
                return
            if over and len(walls_s) >= _GIVE_UP_ROUNDS:
                return

    def set_alone_after(self, alone_s: float) -> None:
        """Record torch's time per call after the submission's worker has ended."""
        self._alone_after_s = alone_s

    def _lengthened(self, burst: Burst) -> bool:
        """Give the submission longer bursts if this burst shows that they fit; True if they do."""
        call_s = (burst.took_s - overhead_s(self._single_burst_s, self._alone_s)) / burst.calls
        return self._worker.lengthen(call_s)

    def _round(self, baseline_first: bool) -> _RawRound:
        one_s = _baseline_step(self._baseline_worker.single_burst).took_s
        # Both workers call the same sets in the same order where they make as many calls: the
        # place of a set in memory then makes no difference.
        order = self._baseline_worker.order()
        same_length = self._worker.most == self._baseline_worker.most
        worker_order = order if same_length else self._worker.order()
        if baseline_first:
            baseline = _baseline_step(lambda: self._baseline_worker.timed_burst(order))
        submission = self._worker.timed_burst(worker_order)
        if not baseline_first:
            baseline = _baseline_step(lambda: self._baseline_worker.timed_burst(order))
        return _RawRound(one_s=one_s, baseline=baseline, submission=submission)

    def _overhead_s(self) -> float:
        """Return the current overhead of a burst, bounded relative to the overhead alone."""
        alone_s = overhead_s(self._single_burst_s, self._alone_s)
        if not self._kept:
            return alone_s
        single_burst_s = [kept.one_s for kept in self._kept]
        now_s = overhead_s(
            single_burst_s, per_call_s(single_burst_s, [kept.baseline for kept in self._kept])
        )
        return min(now_s, _MOST_OVERHEAD_GROWTH * alone_s)

    def _rounds(self) -> tuple[Round, ...]:
        """Return the kept rounds without their overhead; a round with no time left is dropped."""
        off_s = self._overhead_s()
        rounds = (
            Round(
                baseline_s=(kept.baseline.took_s - off_s) / kept.baseline.calls,
                submission_s=(kept.submission.took_s - off_s) / kept.submission.calls,
            )
            for kept in self._kept
        )
        return tuple(one for one in rounds if min(one.baseline_s, one.submission_s) > 0)

    def measured(self, tolerance: DriftTolerance) -> Measured:
        """Return the result, with a failure if the rounds prove nothing."""
        rounds = self._rounds()
        together_s = statistics.median(r.baseline_s for r in rounds) if rounds else 0.0
        alones_s = self._alone_s, self._alone_after_s
        discarded = self._discarded + len(self._kept) - len(rounds)
        return Measured(
            rounds=rounds,
            found=_estimate(rounds) if len(rounds) >= fewest_rounds() else None,
            failure=_untrusted(rounds, discarded, alones_s, together_s, tolerance),
            alone_s=_nearer(alones_s, together_s),
            overhead_s=self._overhead_s(),
            calls_per_round=self._worker.most,
            discarded=discarded,
            tuning_s=self._worker.tuning_s,
        )


def _estimate(rounds: Sequence[Round]) -> Estimate:
    return estimate([one.ratio for one in rounds])


def _nearer(alones_s: tuple[float, float], together_s: float) -> float:
    """Return that time of torch alone which is nearer to its time during the rounds."""
    return min(alones_s, key=lambda alone_s: abs(alone_s - together_s))


def _untrusted(
    kept: Sequence[Round],
    discarded: int,
    alones_s: tuple[float, float],
    together_s: float,
    tolerance: DriftTolerance,
) -> Diagnosis | None:
    """Return why the rounds prove nothing, None if they are valid."""
    if len(kept) < fewest_rounds():
        why = f", {discarded} were discarded: the GPU was throttled or busy" if discarded else ""
        return Diagnosis(
            Verdict.NOT_MEASURED,
            f"only {len(kept)} rounds could be timed{why}",
            hint="grade again on a GPU that nothing else uses",
        )
    least_s, most_s = min(alones_s) * (1 - tolerance.faster), max(alones_s) * (1 + tolerance.slower)
    if not least_s <= together_s <= most_s:
        alone_s = _nearer(alones_s, together_s)
        return Diagnosis(
            Verdict.NOT_MEASURED,
            f"torch took {alone_s * 1e6:.1f} us alone and {together_s * 1e6:.1f} us "
            "beside the submission: another process uses the GPU, or the submission disturbs it",
            hint="grade again on a GPU that nothing else uses",
        )
    return None
