"""How fast is the hand-in, relative to torch, by the judge's own clock?

    judge                                   worker of one side
     fresh inputs, poisoned outputs, arguments laid out
     clock starts ── "run the calls" ─────→  launches them all, waits once
     clock stops  ←── "done" ───────────────
       … after the judge has read cells of the outputs by itself
     every output of the burst is verified

A burst is one such exchange: calls on most sets of buffers, how many and in
which order is random. A round is a burst of each side, in random order, and one
of a single call of the baseline; it gives one ratio. Many short rounds, not a
few long ones: what comes between the clock and the kernels now and then spoils
one of many, and the median does not see it (docs/decisions/rounds.md).

    T(m calls) = overhead + m · call

The overhead (messages, launching, the GPU's change from one process to the
other, the judge's read) is the same on both sides. It is found from the
baseline's bursts of one call and of most, and taken off on both sides. Never
from the hand-in's: one that is slow only in short bursts would gain by it.

The two workers take turns on one core, for cores are not equally fast.

The baseline is a worker of the same build that runs the oracle's `baseline`.
It is timed alone before the hand-in's worker exists, and the two figures must
agree: what disturbs the baseline disturbs the measurement.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from grader.assignment.model import Limits
from grader.build.artifact import Built
from grader.checks.common.case_run import who_held_it
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.performance.buffer_pool import BufferPool
from grader.checks.performance.timed_worker import (
    Burst,
    StoppedError,
    TimedWorker,
    open_timed_worker,
    overhead_s,
    per_call_s,
)
from grader.errors import GraderError
from grader.judge.gpu_out_of_memory import GpuOutOfMemoryError, gpu_errors
from grader.judge.session import Session
from grader.report.verdict import Verdict
from grader.timing.decision import NOISE, WIDTH
from grader.timing.estimate import Estimate, estimate, fewest_rounds

MOST_ROUNDS = 400
# A burst's overhead beside the hand-in's worker against alone. Some more is what a second
# worker costs; a hand-in that makes it still larger must not gain by it.
_DEARER = 1.25
_ENOUGH_ROUNDS = 20  # a few may agree by chance
_VAIN_ROUNDS = 18  # after which it is over, however few of them count
# A call that takes so long, and so many times as long as torch's, is not worth rounds.
_HOPELESS_S, _HOPELESS_TIMES = 1.0, 20
_SKIPPED_MOST = 0.5  # share of rounds that may be left out for throttling
_RUN_S = 60.0  # for a call of the baseline, which is ours
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """How much slower or faster than alone torch may be beside the hand-in, as shares of alone.

    Slower: a hand-in that hogs the machine gains no more by it. Faster: drift,
    by which nobody gains. With `again` torch is timed alone once more when the
    hand-in's worker has ended; all between the two figures is drift as well.
    """

    slower: float
    faster: float
    again: bool = False


# A hand-in that hogs the GPU gains no more than a student is given for noise.
DRIFT_TOLERANCE = Apart(slower=NOISE, faster=0.1)
# Where torch reads the host's memory its time drifts, beside an honest hand-in as well
# (0.83 to 1.20 times what it was before, on an H200; docs/decisions/host-memory.md).
HOST_DRIFT_TOLERANCE = Apart(slower=0.2, faster=0.25, again=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Seconds of one round, per call, the overhead of its bursts taken off."""

    baseline_s: float
    submission_s: float

    @property
    def ratio(self) -> float:
        """The speedup of this round."""
        return self.baseline_s / self.submission_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One benchmark's rounds; `failure` instead of `found` if there are none to trust.

    `tuning_s` is what the hand-in's first call took beyond a later one: compiling, tuning.
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
        """The speedup of every round, in the order in which they were timed."""
        return tuple(one.ratio for one in self.rounds)


def measure(
    field: BufferPool,
    submission: tuple[Built, Callable[[], Session], Limits],
    baseline: tuple[Built, Callable[[], Session]],
    *,
    budget_s: float,
    throttled: Callable[[], Sequence[str]],
    first: Callable[[], bool],
    enough: Callable[[Estimate], bool] = lambda found: found.width <= WIDTH,
    apart: Apart = DRIFT_TOLERANCE,
) -> Measured:
    """Measure one benchmark.

    `throttled` names reasons why the GPU is slower than it could be at this
    moment; `first` tosses which side begins a round. Rounds go on until
    `enough` says so of their estimate, or `budget_s` is spent from now on, what
    the hand-in compiles and tunes not counted; on a slow GPU until there are as
    many as an interval needs.
    """
    limits = Limits(call_s=_RUN_S, load_s=_RUN_S, memory_mib=1 << 20)
    deadline_s = time.monotonic() + budget_s
    collecting = gc.isenabled()
    gc.disable()  # it may begin at any moment, and takes milliseconds
    try:
        with open_timed_worker(baseline[1], baseline[0], limits, field, trusted=True) as torch_side:
            _guarded(torch_side.warm_up)
            begun_s = time.monotonic()
            ones, alone_s = _guarded(torch_side.alone)
            if apart.again:
                deadline_s -= time.monotonic() - begun_s
            try:
                with (
                    gpu_errors(),
                    open_timed_worker(
                        submission[1], submission[0], submission[2], field, other=torch_side
                    ) as side,
                ):
                    call_s = side.warm_up(overhead_s(ones, alone_s))
                    if call_s > max(_HOPELESS_S, _HOPELESS_TIMES * alone_s):
                        return Measured(failure=_hopeless(call_s, alone_s))
                    rounds = _Rounds(torch_side, side, ones, alone_s)
                    rounds.take(deadline_s + side.tuning_s, throttled, first, enough)
            except GpuOutOfMemoryError:
                # Its worker has ended: if there is room now, the hand-in had it.
                return Measured(failure=who_held_it(submission[0], lambda: field.refresh([0])))
            if apart.again:
                rounds.alone_again(_guarded(torch_side.alone)[1])
            return rounds.measured(apart)
    except StoppedError as stopped:
        return Measured(failure=stopped.diagnosis)
    finally:
        if collecting:
            gc.enable()


def _hopeless(call_s: float, alone_s: float) -> Diagnosis:
    return Diagnosis(
        Verdict.TOO_SLOW,
        f"a call takes {call_s:.1f} s, and torch's {alone_s * 1e3:.3g} ms",
        hint="is the work shared out to threads and blocks?",
    )


def _guarded(step: Callable[[], _Result]) -> _Result:
    """Run a step of the baseline alone, whose failures are ours."""
    try:
        return step()
    except StoppedError as stopped:
        raise GraderError(f"the baseline failed: {stopped.diagnosis.message}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """One round as the clock saw it: bursts of the baseline, of one call and of most, and ours."""

    one_s: float
    baseline: Burst
    submission: Burst


class _Rounds:
    """The rounds of two sides that are warm."""

    def __init__(
        self, torch_side: TimedWorker, side: TimedWorker, ones: Sequence[float], alone_s: float
    ) -> None:
        self._torch_side, self._side = torch_side, side
        self._ones = tuple(ones)
        self._alone_s = self._alone_after_s = alone_s
        self._kept: list[_Taken] = []
        self._discarded = 0

    def take(
        self,
        deadline_s: float,
        throttled: Callable[[], Sequence[str]],
        first: Callable[[], bool],
        enough: Callable[[Estimate], bool],
    ) -> None:
        """Take rounds until there are enough, or the next one would end too late."""
        walls_s: list[float] = []
        while len(self._kept) < MOST_ROUNDS:
            begun_s = time.monotonic()
            taken = self._round(first())
            if self._lengthened(taken.submission):
                self._kept.clear()
            elif throttled():
                self._discarded += 1
            else:
                self._kept.append(taken)
            now_s = time.monotonic()
            walls_s.append(now_s - begun_s)
            over = now_s + statistics.median(walls_s) > deadline_s
            rounds = self._rounds()
            if len(rounds) >= fewest_rounds() and (
                over or (len(rounds) >= _ENOUGH_ROUNDS and enough(_estimate(rounds)))
            ):
                return
            if over and self._discarded > _SKIPPED_MOST * (self._discarded + len(self._kept)):
                return
            if over and len(walls_s) >= _VAIN_ROUNDS:
                return

    def alone_again(self, alone_s: float) -> None:
        """Take note of what a call of torch's takes when the hand-in's worker has ended."""
        self._alone_after_s = alone_s

    def _lengthened(self, burst: Burst) -> bool:
        """Have the hand-in make more calls from now on if this burst shows that they fit."""
        call_s = (burst.took_s - overhead_s(self._ones, self._alone_s)) / burst.calls
        return self._side.lengthen(call_s)

    def _round(self, torch_first: bool) -> _Taken:
        torch_side, side = self._torch_side, self._side
        one_s = _guarded(torch_side.one).took_s
        # The same sets in the same order: where they lie in memory makes no difference then.
        order = torch_side.order()
        of_side = order if side.most == torch_side.most else side.order()
        if torch_first:
            baseline = _guarded(lambda: torch_side.timed(order))
        submission = side.timed(of_side)
        if not torch_first:
            baseline = _guarded(lambda: torch_side.timed(order))
        return _Taken(one_s=one_s, baseline=baseline, submission=submission)

    def _overhead_s(self) -> float:
        """Return the overhead of a burst as it is now, but not much more than it was alone."""
        alone_s = overhead_s(self._ones, self._alone_s)
        if not self._kept:
            return alone_s
        ones = [taken.one_s for taken in self._kept]
        now_s = overhead_s(ones, per_call_s(ones, [taken.baseline for taken in self._kept]))
        return min(now_s, _DEARER * alone_s)

    def _rounds(self) -> tuple[Round, ...]:
        """Return the rounds, the overhead taken off; without those that it leaves nothing of."""
        off_s = self._overhead_s()
        rounds = (
            Round(
                baseline_s=(taken.baseline.took_s - off_s) / taken.baseline.calls,
                submission_s=(taken.submission.took_s - off_s) / taken.submission.calls,
            )
            for taken in self._kept
        )
        return tuple(one for one in rounds if min(one.baseline_s, one.submission_s) > 0)

    def measured(self, apart: Apart) -> Measured:
        """Return what came of it, or why it proves nothing."""
        rounds = self._rounds()
        together_s = statistics.median(r.baseline_s for r in rounds) if rounds else 0.0
        alones_s = self._alone_s, self._alone_after_s
        discarded = self._discarded + len(self._kept) - len(rounds)
        return Measured(
            rounds=rounds,
            found=_estimate(rounds) if len(rounds) >= fewest_rounds() else None,
            failure=_untrusted(rounds, discarded, alones_s, together_s, apart),
            alone_s=_nearer(alones_s, together_s),
            overhead_s=self._overhead_s(),
            calls_per_round=self._side.most,
            discarded=discarded,
            tuning_s=self._side.tuning_s,
        )


def _estimate(rounds: Sequence[Round]) -> Estimate:
    return estimate([one.ratio for one in rounds])


def _nearer(alones_s: tuple[float, float], together_s: float) -> float:
    """Return what torch took alone at a time like that of the rounds, if the machine drifts."""
    return min(alones_s, key=lambda alone_s: abs(alone_s - together_s))


def _untrusted(
    kept: Sequence[Round],
    discarded: int,
    alones_s: tuple[float, float],
    together_s: float,
    apart: Apart,
) -> Diagnosis | None:
    """Say why the rounds prove nothing, None if they do."""
    if len(kept) < fewest_rounds():
        why = f", {discarded} were thrown away: the GPU was throttled or busy" if discarded else ""
        return Diagnosis(
            Verdict.NOT_MEASURED,
            f"only {len(kept)} rounds could be timed{why}",
            hint="grade again on a GPU that nothing else uses",
        )
    least_s, most_s = min(alones_s) * (1 - apart.faster), max(alones_s) * (1 + apart.slower)
    if not least_s <= together_s <= most_s:
        alone_s = _nearer(alones_s, together_s)
        return Diagnosis(
            Verdict.NOT_MEASURED,
            f"torch took {alone_s * 1e6:.1f} us alone and {together_s * 1e6:.1f} us "
            "beside the hand-in: something else uses the GPU, or the hand-in disturbs it",
            hint="grade again on a GPU that nothing else uses",
        )
    return None
