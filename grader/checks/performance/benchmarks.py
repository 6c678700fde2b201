"""All benchmarks of one kernel → speedup, tier, share of the points.

speedup of a benchmark   the median of its rounds' ratios
speedup of the kernel    the geometric mean over its benchmarks, round by
                         round, so that its interval is one of order
                         statistics as well
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import psutil

from grader.assignment.model import Assignment, Benchmark, Limits
from grader.build.artifact import Built
from grader.checks.check import CheckOutcome
from grader.checks.common.case_run import RunSetup
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.performance.buffer_pool import open_buffer_pool
from grader.checks.performance.copy_bandwidth import COPY_BYTES, copy_rate_gb_s, somebody_else
from grader.checks.performance.figures import from_host, performance_evidence
from grader.checks.performance.measurement import (
    DRIFT_TOLERANCE,
    HOST_DRIFT_TOLERANCE,
    Measured,
    measure,
)
from grader.gpu.lock import alone
from grader.gpu.monitor import Watch
from grader.gpu.nvml import Gpu
from grader.judge.gpu_out_of_memory import gpu_errors
from grader.judge.oracle import Oracle
from grader.judge.session import Session
from grader.report.evidence import PerformanceEvidence
from grader.report.verdict import Verdict
from grader.timing.decision import WIDTH, Decision, Tier, decide, settled
from grader.timing.estimate import Estimate, estimate, fewest_rounds, geometric_mean
from grader.vocabulary import Language, Memory

# For all benchmarks of a kernel together, baseline included.
BUDGET_S = 8.0
_END_S = 0.3  # of it, for each benchmark: the ends of its workers (0.2 s on an H200)
# Of it: looking at the GPU afterwards, and once more after 0.3 s if a worker is still ending.
_AFTER_S = 0.5
# All buffers of a benchmark, of each kind of memory: the longer a burst is, the less do its
# ends matter. Of a T4's 15 GB a quarter goes to them, and more to the judge's own float64.
_FIELD_BYTES = 32 << 30
# Those in the host's memory are written as a whole before the first burst, which takes seconds.
_HOST_BYTES = 1 << 30
_FIELD_SHARE = 0.25  # of the memory that is free
_FEWEST_SETS, _MOST_SETS = 2, 64
_BASELINE_MEMORY_MIB = 1 << 20
_UNSCORED = "which is shown and not scored on this GPU"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedOutcome(CheckOutcome[PerformanceEvidence]):
    """The outcome of timing; the share of the points follows from the tier.

    `tuning_s` is the time in which the submission compiled and tuned before its rounds.
    """

    share: float | None = 0.0
    tuning_s: float = 0.0


class _TimeBudget:
    """What is left of the seconds of all benchmarks: one that needs fewer leaves them to the next.

    What a hand-in compiles and tunes is its own, and comes on top.
    """

    def __init__(self, budget_s: float, benchmarks: int) -> None:
        self._until_s = time.monotonic() + budget_s - _AFTER_S
        self._left = benchmarks
        self._least_s = budget_s / benchmarks / 2

    def share_s(self) -> float:
        """Return what the next benchmark may take until its workers are to end."""
        left_s = self._until_s - time.monotonic()
        return max(left_s / self._left - _END_S, self._least_s)

    def taken(self, one: Measured) -> None:
        """Count a benchmark as measured."""
        self._left -= 1
        self._until_s += one.tuning_s


def check_speed(
    setup: RunSetup,
    baseline: Built,
    oracle: Oracle,
    gpu: Gpu,
    tiers: Sequence[Tier],
    advance: Callable[[str], None],
    *,
    seed: int,
    budget_s: float = BUDGET_S,
) -> SpeedOutcome:
    """Measure every benchmark of the hand-in's language on this GPU and decide.

    A first answer that is too uncertain for a verdict is asked for once more.
    """
    language = setup.built.language
    benchmarks = [b for b in setup.assignment.benchmarks if language in b.languages]
    if not benchmarks:
        message = f"the assignment has no benchmark for {language.phrase}"
        diagnosis = Diagnosis(Verdict.NOT_MEASURED, message)
        return SpeedOutcome(diagnosis=diagnosis)
    with alone(gpu.uuid), Watch(gpu.uuid) as watch:
        begun_s = time.monotonic()
        # The judge itself is one of them; no worker lives now.
        strangers = len(watch.state().processes) - 1
        with gpu_errors(2 * COPY_BYTES):
            roof_gb_s, busy = copy_rate_gb_s(), somebody_else()
        if busy is not None:
            return SpeedOutcome(diagnosis=busy)
        # What one benchmark's worker is shown must not tell what the next one's will be.
        seeds, tuning_s = random.Random(seed), 0.0
        budget_s -= time.monotonic() - begun_s
        for _ in range(2):
            time_budget = _TimeBudget(budget_s, len(benchmarks))
            measured: list[tuple[Benchmark, Measured]] = []
            for benchmark in benchmarks:
                one = _measure_one(
                    setup, baseline, oracle, gpu, benchmark, watch, seeds.getrandbits(62),
                    time_budget.share_s(),
                    # The mean of several is known better than each.
                    WIDTH * math.sqrt(len(benchmarks)),
                    # Of several sizes none can tell when the mean of all is certain.
                    tiers if len(benchmarks) == 1 else (),
                )  # fmt: skip
                advance(benchmark.name)
                time_budget.taken(one)
                tuning_s += one.tuning_s
                measured.append((benchmark, one))
                if one.failure is not None and one.failure.verdict is not Verdict.NOT_MEASURED:
                    return SpeedOutcome(diagnosis=_told(one.failure, tiers), tuning_s=tuning_s)
            found = combine([one.rounds_ratios for _, one in measured])
            failed = next((one.failure for _, one in measured if one.failure), None)
            decision = decide(found, tiers) if found and not failed else None
            if decision is not None and not decision.again:
                break
        with gpu_errors():
            busy = somebody_else()
        if busy is not None:  # since when, nobody knows
            return SpeedOutcome(diagnosis=busy)
        evidence = performance_evidence(
            setup.assignment, language, measured, found, decision, tiers, roof_gb_s, watch,
            strangers,
        )  # fmt: skip
    if failed is not None or found is None or decision is None:
        diagnosis = failed or Diagnosis(Verdict.NOT_MEASURED, "no rounds to go by")
        return SpeedOutcome(diagnosis=diagnosis, evidence=evidence, tuning_s=tuning_s)
    return SpeedOutcome(
        diagnosis=_sentence(found, decision, tiers),
        share=decision.tier.share if decision.tier and not decision.again else 0.0,
        evidence=evidence,
        tuning_s=tuning_s,
    )


def _measure_one(
    setup: RunSetup,
    baseline: Built,
    oracle: Oracle,
    gpu: Gpu,
    benchmark: Benchmark,
    watch: Watch,
    seed: int,
    budget_s: float,
    width: float,
    tiers: Sequence[Tier],
) -> Measured:
    assignment, built = setup.assignment, setup.built
    case = benchmark.case(seed)
    chooser = random.Random(seed)
    baseline_limits = Limits(memory_mib=_BASELINE_MEMORY_MIB)
    started_s = time.monotonic()
    with open_buffer_pool(
        setup,
        oracle,
        case,
        built.language,
        sets=sets_for(
            assignment,
            benchmark,
            built.language,
            gpu.memory_free_mib << 20,
            psutil.virtual_memory().available,
        ),
        seed=seed,
    ) as field:
        setting_up_s = time.monotonic() - started_s
        return measure(
            field,
            (
                built,
                lambda: Session(built, assignment.limits, setup.server, tuning=True, gives=True),
                assignment.limits,
            ),
            (baseline, lambda: Session(baseline, baseline_limits, setup.server)),
            budget_s=max(budget_s - setting_up_s, budget_s / 2),
            throttled=watch.disturbances,
            first=lambda: chooser.random() < 0.5,
            enough=lambda found: found.width <= width or bool(tiers and settled(found, tiers)),
            apart=HOST_DRIFT_TOLERANCE if from_host(assignment) else DRIFT_TOLERANCE,
        )


def sets_for(
    assignment: Assignment,
    benchmark: Benchmark,
    language: Language,
    free_bytes: int,
    host_free_bytes: int,
) -> int:
    """Return how many sets of buffers to draw a burst from, within the memory there is."""
    signature = assignment.signature
    one = dict.fromkeys(Memory, 0)
    for argument in signature.arrays:
        size = signature.element_type(argument, language).size
        for extent in signature.shape(argument, benchmark.sizes):
            size *= extent
        one[argument.memory] += size
    on_gpu = min(_FIELD_BYTES, int(free_bytes * _FIELD_SHARE)) // max(one[Memory.DEVICE], 1)
    on_host = min(_HOST_BYTES, int(host_free_bytes * _FIELD_SHARE)) // max(one[Memory.HOST], 1)
    return max(_FEWEST_SETS, min(_MOST_SETS, on_gpu, on_host))


def combine(ratios: Sequence[Sequence[float]]) -> Estimate | None:
    """Return the estimate of the geometric mean over benchmarks; None for too few rounds."""
    rounds = min((len(one) for one in ratios), default=0)
    if rounds < fewest_rounds():
        return None
    return estimate([geometric_mean([one[i] for one in ratios]) for i in range(rounds)])


def _told(failure: Diagnosis, tiers: Sequence[Tier]) -> Diagnosis:
    """Return the failure; too slow is nobody where nothing is scored."""
    if failure.verdict is not Verdict.TOO_SLOW or tiers:
        return failure
    return Diagnosis(Verdict.NOT_MEASURED, f"{failure.message}, {_UNSCORED}")


def _sentence(found: Estimate, decision: Decision, tiers: Sequence[Tier]) -> Diagnosis:
    figure = f"{found.median:.2f} times as fast as torch"
    interval = f"{found.low:.3f} to {found.high:.3f}"
    if not tiers:
        return Diagnosis(Verdict.NOT_MEASURED, f"{figure}, {_UNSCORED}")
    if decision.again:
        return Diagnosis(
            Verdict.NOT_MEASURED,
            f"{figure}, but between {interval}: too uncertain to score, twice",
            hint="grade again on a GPU that nothing else uses",
        )
    following = next(
        (t for t in tiers if not decision.tier or t.speedup > decision.tier.speedup), None
    )
    hint = f"the next tier is at {following.speedup:g}" if following else ""
    if decision.open is not None:
        return Diagnosis(
            Verdict.INCONCLUSIVE if decision.open.accepted else Verdict.TOO_SLOW,
            f"{figure} ({interval}), as good as the tier at {decision.open.speedup:g}",
            hint=hint,
        )
    fast = decision.tier is not None and decision.tier.accepted
    return Diagnosis(
        Verdict.ACCEPTED if fast else Verdict.TOO_SLOW, f"{figure} ({interval})", hint=hint
    )
