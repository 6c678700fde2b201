"""How fast is the hand-in, relative to torch, by the judge's own clock?

    judge                                   worker of one side
     fresh inputs, poisoned outputs
     clock starts ── "run these calls" ───→  launches them all, waits once
     clock stops  ←── "done" ───────────────
       … after the judge has read cells of the outputs by itself
     every output of the burst is verified

A burst is one such exchange: a call on each set of buffers, in random order. A
round is as many bursts as make ROUND_S, on each side, the sides taking turns
in random order; it gives one ratio. What an exchange costs without any call is
measured the same way and taken off on both sides.

The baseline is a worker of the same build that runs the oracle's `baseline`.
It is timed alone before the hand-in's worker exists, and the two figures must
agree: what disturbs the baseline disturbs the measurement.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from grader.build.product import Built
from grader.check.ending import Doing, Sentence, explain
from grader.check.field import Field
from grader.errors import GraderError
from grader.judge.session import COMMAND_S, Session
from grader.spec import Limits
from grader.timing.decision import WIDTH
from grader.timing.estimate import Estimate, estimate, fewest_rounds
from grader.verdict import Verdict

ROUND_S = 0.03  # of kernels on each side; the clock's own jitter is some 10 us
MOST_ROUNDS = 400
AGREEMENT = 0.05  # between the baseline alone and beside the hand-in's worker
_ALONE_ROUNDS = 5
_OVERHEAD_BURSTS = 7
_WANTED_ROUNDS = 15
_WARM_S = 0.05  # of calls before the first that counts
_MOST_WARM_BURSTS = 50
_SKIPPED_MOST = 0.5  # share of rounds that may be left out for throttling
_RUN_S = 60.0  # for a burst of the baseline, which is ours


class _StoppedError(Exception):
    """The measurement cannot go on; `sentence` says why."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(sentence.message)
        self.sentence = sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Seconds of one round, per call, what an empty exchange costs taken off."""

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


class Side:
    """One side: a loaded worker with the field's buffers before its eyes.

    A `trusted` one is ours: what it computes is proven elsewhere (`grade
    verify`), and it may return new tensors where torch has no other way.
    """

    def __init__(
        self,
        session: Session,
        built: Built,
        limits: Limits,
        field: Field,
        *,
        trusted: bool = False,
    ) -> None:
        self._trusted = trusted
        self._session = session
        self._built = built
        self._limits = limits
        self._field = field
        self.overhead_s = 0.0
        # Of a burst with all that stands around it: fresh inputs, verifying.
        self.burst_wall_s = 0.0

    @property
    def calls(self) -> int:
        """How many calls a burst makes."""
        return self._field.sets

    def open(self) -> None:
        """Load the hand-in and show it the buffers."""
        loaded = self._session.load()
        if not loaded.done:
            raise _StoppedError(explain(loaded, self._built, self._limits, Doing.LOADING))
        attached = self._session.attach(self._field.buffers)
        if not attached.done:
            raise _StoppedError(explain(attached, self._built, self._limits, Doing.BETWEEN))

    def burst(self, *, empty: bool = False) -> float:
        """Time one exchange, in seconds, and verify what came of it."""
        field, begun_s = self._field, time.perf_counter()
        field.refresh()
        order = [] if empty else field.order()
        calls = field.calls(order)
        early = field.arm()
        if early is not None:
            raise _StoppedError(early)
        wall_s = COMMAND_S if empty else self._limits.call_s * field.sets
        started_s = time.perf_counter()
        outcome = self._session.run(calls, wall_s=wall_s)
        sample = field.sample(order)
        took_s = time.perf_counter() - started_s
        if not outcome.done:
            raise _StoppedError(explain(outcome, self._built, self._limits, Doing.CALLING))
        wrong = None if empty or self._trusted else field.judge(sample)
        if wrong is not None:
            raise _StoppedError(wrong)
        self.burst_wall_s = time.perf_counter() - begun_s
        return took_s

    def warm_up(self) -> float:
        """Call until a burst takes no less than before; return a call's seconds."""
        started_s, last_s, best_s = time.perf_counter(), float("inf"), float("inf")
        for _ in range(_MOST_WARM_BURSTS):
            took_s = self.burst()
            best_s = min(best_s, took_s)
            warm = time.perf_counter() - started_s > _WARM_S
            if warm and took_s > 0.9 * last_s:
                break
            last_s = took_s
        wall_s = self.burst_wall_s
        empties = [self.burst(empty=True) for _ in range(_OVERHEAD_BURSTS)]
        self.overhead_s, self.burst_wall_s = statistics.median(empties), wall_s
        return max(best_s - self.overhead_s, 1e-9) / self._field.sets

    def round(self, bursts: int) -> float:
        """Return a call's seconds in a round of so many bursts."""
        total_s = sum(self.burst() for _ in range(bursts)) - bursts * self.overhead_s
        return total_s / (bursts * self._field.sets)


@contextmanager
def _side(
    start: Callable[[], Session],
    built: Built,
    limits: Limits,
    field: Field,
    *,
    trusted: bool = False,
) -> Iterator[Side]:
    with start() as session:
        side = Side(session, built, limits, field, trusted=trusted)
        side.open()
        yield side


def measure(
    field: Field,
    submission: tuple[Built, Callable[[], Session], Limits],
    baseline: tuple[Built, Callable[[], Session]],
    *,
    budget_s: float,
    throttled: Callable[[], Sequence[str]],
    first: Callable[[], bool],
    width: float = WIDTH,
) -> Measured:
    """Measure one benchmark.

    `throttled` names reasons why the GPU is slower than it could be at this
    moment; `first` tosses which side begins a round. Rounds go on until the
    interval's width is below `width`, or `budget_s` is spent.
    """
    limits = Limits(call_s=_RUN_S, load_s=_RUN_S, memory_mib=1 << 20)
    try:
        with _side(baseline[1], baseline[0], limits, field, trusted=True) as torch_side:
            call_s = _guarded(torch_side.warm_up)
            # As many as make a round, but so few that the budget holds enough rounds.
            affordable = budget_s / (2 * _WANTED_ROUNDS * torch_side.burst_wall_s)
            bursts = max(1, round(min(ROUND_S / (call_s * field.sets), affordable)))
            alone_s = statistics.median(
                _guarded(lambda: torch_side.round(bursts)) for _ in range(_ALONE_ROUNDS)
            )
            with _side(submission[1], submission[0], submission[2], field) as side:
                side.warm_up()
                return _rounds(torch_side, side, bursts, alone_s, budget_s, throttled, first, width)
    except _StoppedError as stopped:
        return Measured(failure=stopped.sentence)


def _guarded(step: Callable[[], float]) -> float:
    """Run a step of the baseline alone, whose failures are ours."""
    try:
        return step()
    except _StoppedError as stopped:
        raise GraderError(f"the baseline failed: {stopped.sentence.message}") from None


def _rounds(
    torch_side: Side,
    side: Side,
    bursts: int,
    alone_s: float,
    budget_s: float,
    throttled: Callable[[], Sequence[str]],
    first: Callable[[], bool],
    width: float,
) -> Measured:
    kept: list[Round] = []
    discarded = 0
    deadline_s = time.monotonic() + budget_s
    while len(kept) < MOST_ROUNDS:
        if first():
            baseline_s, submission_s = torch_side.round(bursts), side.round(bursts)
        else:
            submission_s, baseline_s = side.round(bursts), torch_side.round(bursts)
        if throttled():
            discarded += 1
        elif min(baseline_s, submission_s) > 0:
            kept.append(Round(baseline_s=baseline_s, submission_s=submission_s))
        enough = len(kept) >= fewest_rounds()
        over = time.monotonic() >= deadline_s
        if enough and (over or estimate([r.ratio for r in kept]).width <= width):
            break
        if over and discarded > _SKIPPED_MOST * (discarded + len(kept)):
            break
        if over and time.monotonic() >= deadline_s + budget_s:
            break
    together_s = statistics.median(r.baseline_s for r in kept) if kept else alone_s
    return Measured(
        rounds=tuple(kept),
        found=estimate([r.ratio for r in kept]) if len(kept) >= fewest_rounds() else None,
        failure=_untrusted(kept, discarded, alone_s, together_s),
        alone_s=alone_s,
        overhead_s=side.overhead_s,
        calls_per_round=bursts * side.calls,
        discarded=discarded,
    )


def _untrusted(
    kept: Sequence[Round], discarded: int, alone_s: float, together_s: float
) -> Sentence | None:
    """Say why the rounds prove nothing, None if they do."""
    if len(kept) < fewest_rounds():
        why = f", {discarded} were thrown away because the GPU was throttled" if discarded else ""
        return Sentence(
            verdict=Verdict.NOT_MEASURED,
            message=f"only {len(kept)} rounds could be timed{why}",
            hint="grade again on a GPU that nothing else uses",
        )
    if min(alone_s, together_s) <= 0:
        return Sentence(
            verdict=Verdict.NOT_MEASURED,
            message="the calls are too short, or the machine too busy, to be told from an exchange "
            "without any",
            hint="grade again on a machine that nothing else uses",
        )
    if abs(together_s / alone_s - 1) > AGREEMENT:
        return Sentence(
            verdict=Verdict.NOT_MEASURED,
            message=f"torch took {alone_s * 1e6:.1f} us alone and {together_s * 1e6:.1f} us "
            "beside the hand-in: something else uses the GPU, or the hand-in disturbs it",
            hint="grade again on a GPU that nothing else uses",
        )
    return None
