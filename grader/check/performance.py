"""How fast is the hand-in, relative to torch, by the judge's own clock?

    judge                                   worker of one side
     fresh inputs, poisoned outputs, arguments laid out
     clock starts ── "run the calls" ─────→  launches them all, waits once
     clock stops  ←── "done" ───────────────
       … after the judge has read cells of the outputs by itself
     every output of the burst is verified

A burst is one such exchange: calls on most sets of buffers, how many and in
which order is random. A round is as many bursts as make ROUND_S, on each side,
the sides taking turns in random order; it gives one ratio.

    T(m calls) = overhead + m · call

The overhead (messages, launching, the GPU's change from one process to the
other, the judge's read) is the same on both sides. It is found from the
baseline's bursts of one call and of all, and taken off on both sides. Never
from the hand-in's: one that is slow only in short bursts would gain by it.

The baseline is a worker of the same build that runs the oracle's `baseline`.
It is timed alone before the hand-in's worker exists, and the two figures must
agree: what disturbs the baseline disturbs the measurement.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from grader.build.product import Built
from grader.check.ending import Sentence
from grader.check.field import Field
from grader.check.side import Side, StoppedError, open_side
from grader.check.stage import who_held_it
from grader.errors import GraderError
from grader.judge.room import NoRoomError, gpu_errors
from grader.judge.session import Session
from grader.spec import Limits
from grader.timing.decision import NOISE, WIDTH
from grader.timing.estimate import Estimate, estimate, fewest_rounds
from grader.verdict import Verdict

ROUND_S = 0.03  # of kernels on each side; the clock's own jitter is some 10 us
MOST_ROUNDS = 400
# The baseline beside the hand-in's worker against alone. Slower: a hand-in that hogs
# the machine gains no more by it than a student is given for noise. Faster: drift.
SLOWER, FASTER = NOISE, 0.1
_WANTED_ROUNDS = 15
_FEWEST_ROUNDS = 9  # where the budget does not hold as many: a slow GPU
_HOPELESS = 3  # times the budget
_SKIPPED_MOST = 0.5  # share of rounds that may be left out for throttling
_RUN_S = 60.0  # for a call of the baseline, which is ours
_Result = TypeVar("_Result")


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
    """One benchmark's rounds; `failure` instead of `found` if there are none to trust."""

    rounds: tuple[Round, ...] = ()
    found: Estimate | None = None
    failure: Sentence | None = None
    alone_s: float = 0.0
    overhead_s: float = 0.0
    calls_per_round: int = 0
    discarded: int = 0

    @property
    def rounds_ratios(self) -> tuple[float, ...]:
        """The speedup of every round, in the order in which they were timed."""
        return tuple(one.ratio for one in self.rounds)


def measure(
    field: Field,
    submission: tuple[Built, Callable[[], Session], Limits],
    baseline: tuple[Built, Callable[[], Session]],
    *,
    budget_s: float,
    throttled: Callable[[], Sequence[str]],
    first: Callable[[], bool],
    enough: Callable[[Estimate], bool] = lambda found: found.width <= WIDTH,
) -> Measured:
    """Measure one benchmark.

    `throttled` names reasons why the GPU is slower than it could be at this
    moment; `first` tosses which side begins a round. Rounds go on until
    `enough` says so of their estimate, or `budget_s` is spent from now on; on a
    slow GPU until there are a few.
    """
    limits = Limits(call_s=_RUN_S, load_s=_RUN_S, memory_mib=1 << 20)
    deadline_s = time.monotonic() + budget_s
    try:
        with open_side(baseline[1], baseline[0], limits, field, trusted=True) as torch_side:
            _guarded(torch_side.warm_up)
            overhead_s, alone_s = _guarded(torch_side.alone)
            try:
                with (
                    gpu_errors(),
                    open_side(submission[1], submission[0], submission[2], field) as side,
                ):
                    call_s = side.warm_up(overhead_s)
                    if call_s * fewest_rounds() > _HOPELESS * budget_s:
                        return Measured(failure=_hopeless(call_s, alone_s))
                    both_s = torch_side.burst_wall_s + side.burst_wall_s
                    # As many as make a round, but so few that the budget holds enough rounds.
                    affordable = (deadline_s - time.monotonic()) / (_WANTED_ROUNDS * both_s)
                    bursts = max(1, round(min(ROUND_S / (alone_s * torch_side.most), affordable)))
                    rounds = _Rounds(torch_side, side, bursts, overhead_s, alone_s)
                    least_s = time.monotonic() + _FEWEST_ROUNDS * bursts * both_s
                    rounds.take(max(deadline_s, least_s), throttled, first, enough)
                    return rounds.measured()
            except NoRoomError:
                # Its worker has ended: if there is room now, the hand-in had it.
                return Measured(failure=who_held_it(submission[0], field.refresh))
    except StoppedError as stopped:
        return Measured(failure=stopped.sentence)


def _hopeless(call_s: float, alone_s: float) -> Sentence:
    return Sentence(
        verdict=Verdict.TOO_SLOW,
        message=f"a call takes {call_s:.1f} s, and torch's {alone_s * 1e3:.3g} ms",
        hint="is the work shared out to threads and blocks?",
    )


def _guarded(step: Callable[[], _Result]) -> _Result:
    """Run a step of the baseline alone, whose failures are ours."""
    try:
        return step()
    except StoppedError as stopped:
        raise GraderError(f"the baseline failed: {stopped.sentence.message}") from None


class _Rounds:
    """The rounds of two sides that are warm."""

    def __init__(
        self, torch_side: Side, side: Side, bursts: int, overhead_s: float, alone_s: float
    ) -> None:
        self._sides = torch_side, side
        self._bursts = bursts
        self._overhead_s = overhead_s
        self._alone_s = alone_s
        self._kept: list[Round] = []
        self._discarded = 0

    def take(
        self,
        deadline_s: float,
        throttled: Callable[[], Sequence[str]],
        first: Callable[[], bool],
        enough: Callable[[Estimate], bool],
    ) -> None:
        """Take rounds until there are enough, or it is too late."""
        patience_s = max(deadline_s - time.monotonic(), 0.0)
        while len(self._kept) < MOST_ROUNDS:
            taken = self._round(first())
            if throttled() or min(taken.baseline_s, taken.submission_s) <= 0:
                self._discarded += 1
            else:
                self._kept.append(taken)
            over = time.monotonic() >= deadline_s
            found = self._estimate()
            if found is not None and (over or enough(found)):
                return
            if over and self._discarded > _SKIPPED_MOST * (self._discarded + len(self._kept)):
                return
            if time.monotonic() >= deadline_s + patience_s:
                return

    def _round(self, torch_first: bool) -> Round:
        torch_side, side = self._sides
        if torch_first:
            baseline_s = _guarded(lambda: torch_side.round(self._bursts, self._overhead_s))
        submission_s = side.round(self._bursts, self._overhead_s)
        if not torch_first:
            baseline_s = _guarded(lambda: torch_side.round(self._bursts, self._overhead_s))
        return Round(baseline_s=baseline_s, submission_s=submission_s)

    def _estimate(self) -> Estimate | None:
        if len(self._kept) < fewest_rounds():
            return None
        return estimate([one.ratio for one in self._kept])

    def measured(self) -> Measured:
        """Return what came of it, or why it proves nothing."""
        together_s = statistics.median(r.baseline_s for r in self._kept) if self._kept else 0.0
        return Measured(
            rounds=tuple(self._kept),
            found=self._estimate(),
            failure=_untrusted(self._kept, self._discarded, self._alone_s, together_s),
            alone_s=self._alone_s,
            overhead_s=self._overhead_s,
            calls_per_round=self._bursts * self._sides[1].most,
            discarded=self._discarded,
        )


def _untrusted(
    kept: Sequence[Round], discarded: int, alone_s: float, together_s: float
) -> Sentence | None:
    """Say why the rounds prove nothing, None if they do."""
    if len(kept) < fewest_rounds():
        why = f", {discarded} were thrown away: the GPU was throttled or busy" if discarded else ""
        return Sentence(
            verdict=Verdict.NOT_MEASURED,
            message=f"only {len(kept)} rounds could be timed{why}",
            hint="grade again on a GPU that nothing else uses",
        )
    if not -FASTER <= together_s / alone_s - 1 <= SLOWER:
        return Sentence(
            verdict=Verdict.NOT_MEASURED,
            message=f"torch took {alone_s * 1e6:.1f} us alone and {together_s * 1e6:.1f} us "
            "beside the hand-in: something else uses the GPU, or the hand-in disturbs it",
            hint="grade again on a GPU that nothing else uses",
        )
    return None
