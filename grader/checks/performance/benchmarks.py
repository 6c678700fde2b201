"""Time all benchmarks of one kernel: speedup, share of the roofline, tier, share of the points.

speedup of a benchmark   the median of the ratios of its rounds
speedup of the kernel    the geometric mean over its benchmarks, round by round, so that its
                         confidence interval follows from order statistics as well

The share of the roofline is estimated in the same way, from the submission's times alone.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import psutil

from grader.assignment.model import Assignment, Benchmark
from grader.build.artifact import Built
from grader.checks.check import CheckOutcome
from grader.checks.common.case_run import RunSetup
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.performance.buffer_pool import open_buffer_pool
from grader.checks.performance.copy_bandwidth import COPY_BYTES, busy_gpu, copy_rate_gb_s
from grader.checks.performance.figures import performance_evidence
from grader.checks.performance.measurement import (
    DRIFT_TOLERANCE,
    HOST_DRIFT_TOLERANCE,
    Measured,
    Round,
    loaded_baseline,
    measure,
)
from grader.checks.performance.roof import WORDS, roof_kind, roof_shares, roofline_of
from grader.checks.performance.timed_worker import Timed
from grader.gpu.lock import exclusive_use
from grader.gpu.monitor import GpuMonitor
from grader.gpu.nvml import Gpu
from grader.judge.gpu_out_of_memory import gpu_errors
from grader.judge.oracle import Oracle
from grader.judge.session import Session
from grader.protocol.launches import LaunchMode
from grader.report.evidence import PerformanceEvidence
from grader.report.verdict import Verdict
from grader.timing.decision import (
    Criterion,
    Decision,
    Found,
    Scale,
    Tier,
    decide,
    settled,
    share_of,
)
from grader.timing.estimate import Estimate, estimate, fewest_rounds, geometric_mean
from grader.timing.roofline import Roofline
from grader.vocabulary import Language, Memory

# Seconds for all benchmarks of a kernel together, baseline included.
BUDGET_S = 8.0
# Seconds of the budget reserved for the exit of each benchmark's workers (0.2 s on an H200).
_WORKER_EXIT_S = 0.3
# Seconds of the budget reserved for the final GPU-idle check and one retry after 0.3 s.
_FINAL_CHECK_S = 0.5
# Rounds of all benchmarks of a kernel together: a few may agree by chance.
_ENOUGH_ROUNDS = 20
# Most memory for the buffers of a benchmark. Start and end of a burst matter less the longer it
# is, and workers take longer to end: 1.0 s with 20 GB on an H100. With 4 GiB there, the transpose
# in Triton measured 4 % slower, and nothing was graded sooner. On a T4 with 15 GB the buffers take
# a quarter; the judge's float64 values take more.
_POOL_BYTES = 8 << 30
# Buffers in host memory are filled before the first burst, which takes seconds.
_HOST_BYTES = 1 << 30
_POOL_SHARE = 0.25  # of the memory that is free
_FEWEST_SETS, _MOST_SETS = 2, 64
_UNSCORED = "which is shown and not scored on this GPU"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedOutcome(CheckOutcome[PerformanceEvidence]):
    """The outcome of timing; the share of the points follows from the tier.

    `tuning_s` is the time in which the submission compiled and tuned before its rounds.
    """

    share: float | None = 0.0
    tuning_s: float = 0.0


class _TimeBudget:
    """Seconds shared by all benchmarks: a quick benchmark leaves time to the next.

    Time in which a submission compiles and tunes is added on top.
    """

    def __init__(self, budget_s: float, benchmarks: int) -> None:
        self._until_s = time.monotonic() + budget_s - _FINAL_CHECK_S
        self._left = benchmarks
        self._least_s = budget_s / benchmarks / 2

    def share_s(self) -> float:
        """Return the seconds for the next benchmark, without the exit of its workers."""
        left_s = self._until_s - time.monotonic()
        return max(left_s / self._left - _WORKER_EXIT_S, self._least_s)

    def taken(self, result: Measured) -> None:
        """Count a benchmark as measured."""
        self._left -= 1
        self._until_s += result.tuning_s


def check_speed(
    setup: RunSetup,
    baseline: Built,
    oracle: Oracle,
    gpu: Gpu,
    tiers: Sequence[Tier],
    advance: Callable[[str], None],
    *,
    scale: Scale = Scale.STEPS,
    seed: int,
) -> SpeedOutcome:
    """Measure every benchmark of the submission's language on this GPU and decide.

    Repeats the whole measurement if the first result is too uncertain for a verdict.
    """
    assignment, language = setup.assignment, setup.built.language
    benchmarks = [b for b in assignment.benchmarks if language.is_in(b.languages)]
    if not benchmarks:
        message = f"the assignment has no benchmark for {language.phrase}"
        diagnosis = Diagnosis(Verdict.NOT_MEASURED, message)
        return SpeedOutcome(diagnosis=diagnosis)
    with exclusive_use(gpu.uuid), GpuMonitor(gpu.uuid) as monitor:
        begun_s = time.monotonic()
        # The judge itself is one of the processes; no worker lives now.
        other_processes = len(monitor.state().processes) - 1
        with gpu_errors(2 * COPY_BYTES):
            copy_gb_s, busy = copy_rate_gb_s(), busy_gpu()
        if busy is not None:
            return SpeedOutcome(diagnosis=busy)
        roofline = roofline_of(assignment, language, benchmarks, copy_gb_s, monitor.peaks())
        # A worker that sees the inputs of one benchmark must not predict those of the next.
        seeds, tuning_s = random.Random(seed), 0.0
        # One worker of torch for all benchmarks; it ends before the GPU must be idle again.
        with loaded_baseline(baseline, setup.server) as torch_session:
            measuring = _Measuring(
                setup, baseline, torch_session, oracle, gpu, benchmarks, monitor, tiers, scale,
                roofline,
            )  # fmt: skip
            budget_s = BUDGET_S - (time.monotonic() - begun_s)
            for _ in range(2):
                measured = measuring.all(seeds, budget_s, advance)
                tuning_s += sum(result.tuning_s for _, result in measured)
                failures = [result.failure for _, result in measured if result.failure]
                if refused := next(filter(_refuses, failures), None):
                    return SpeedOutcome(diagnosis=_without_tiers(refused, tiers), tuning_s=tuning_s)
                found = combine([measuring.figures(one, result.rounds) for one, result in measured])
                decision = decide(found, tiers) if found and not failures else None
                if decision is not None and not decision.too_wide:
                    break
        with gpu_errors():
            busy = busy_gpu()
        if busy is not None:  # it may have been busy during the rounds
            return SpeedOutcome(diagnosis=busy)
        evidence = performance_evidence(
            assignment, language, measured, found, decision, tiers, scale, copy_gb_s, roofline,
            monitor, other_processes,
        )  # fmt: skip
    if decision is None:
        too_few = Diagnosis(Verdict.NOT_MEASURED, "too few rounds could be timed")
        diagnosis = failures[0] if failures else too_few
        return SpeedOutcome(diagnosis=diagnosis, evidence=evidence, tuning_s=tuning_s)
    kind = roof_kind(assignment, language, benchmarks, roofline) if roofline else "mixed"
    return SpeedOutcome(
        diagnosis=_diagnosis(found, decision, tiers, WORDS[kind]),
        share=share_of(found, decision, tiers, scale),
        evidence=evidence,
        tuning_s=tuning_s,
    )


def _refuses(failure: Diagnosis) -> bool:
    """Return whether the submission failed, and not the measurement."""
    return failure.verdict is not Verdict.NOT_MEASURED


@dataclass(frozen=True, slots=True)
class _Measuring:
    """What all benchmarks of a kernel are measured with; `torch_session` has `baseline` loaded."""

    setup: RunSetup
    baseline: Built
    torch_session: Session
    oracle: Oracle
    gpu: Gpu
    benchmarks: Sequence[Benchmark]
    monitor: GpuMonitor
    tiers: Sequence[Tier]
    scale: Scale
    roofline: Roofline | None

    def all(
        self, seeds: random.Random, budget_s: float, advance: Callable[[str], None]
    ) -> list[tuple[Benchmark, Measured]]:
        """Measure the benchmarks one after another, up to one that the submission fails."""
        time_budget = _TimeBudget(budget_s, len(self.benchmarks))
        measured: list[tuple[Benchmark, Measured]] = []
        for benchmark in self.benchmarks:
            result = self.one(benchmark, seeds.getrandbits(62), time_budget.share_s())
            advance(benchmark.name)
            time_budget.taken(result)
            measured.append((benchmark, result))
            if result.failure is not None and _refuses(result.failure):
                break
        return measured

    def one(self, benchmark: Benchmark, seed: int, budget_s: float) -> Measured:
        """Measure one benchmark, with inputs that the seed determines."""
        setup, built, assignment = self.setup, self.setup.built, self.setup.assignment
        fewest = _ENOUGH_ROUNDS / len(self.benchmarks)
        by_roof = any(tier.roof for tier in self.tiers)

        def enough(rounds: Sequence[Round]) -> bool:
            if len(rounds) < fewest:
                return False
            found = combine([self.figures(benchmark, rounds, by_roof=by_roof)])
            return settled(found, self.tiers, self.scale, benchmarks=len(self.benchmarks))

        def start() -> Session:
            mode = LaunchMode(tuning=True)
            return Session(built, assignment.limits, setup.server, mode=mode, contributes=True)

        case = benchmark.case(seed)
        rng = random.Random(seed)
        started_s = time.monotonic()
        sets = sets_for(
            assignment,
            benchmark,
            built.language,
            self.gpu.memory_free_mib << 20,
            psutil.virtual_memory().available,
        )
        with open_buffer_pool(setup, self.oracle, case, sets=sets, seed=seed) as pool:
            setting_up_s = time.monotonic() - started_s
            return measure(
                pool,
                Timed(built, assignment.limits, start),
                self.baseline,
                self.torch_session,
                budget_s=max(budget_s - setting_up_s, budget_s / 2),
                throttled=self.monitor.disturbances,
                first=lambda: rng.random() < 0.5,
                enough=enough,
                tolerance=(
                    HOST_DRIFT_TOLERANCE if assignment.signature.in_host_memory else DRIFT_TOLERANCE
                ),
            )

    def figures(
        self, benchmark: Benchmark, rounds: Sequence[Round], *, by_roof: bool = True
    ) -> dict[Criterion, Sequence[float]]:
        """Return the figures of one benchmark, round by round, by criterion."""
        shares = roof_shares(
            self.setup.assignment,
            self.setup.built.language,
            benchmark,
            self.roofline if by_roof else None,
            rounds,
        )
        roof = {} if shares is None else {Criterion.ROOF: shares}
        return {Criterion.TORCH: [one.ratio for one in rounds], **roof}


def sets_for(
    assignment: Assignment,
    benchmark: Benchmark,
    language: Language,
    free_bytes: int,
    host_free_bytes: int,
) -> int:
    """Return the number of buffer sets for a benchmark, within the free memory."""
    signature = assignment.signature_of(benchmark)
    set_bytes = dict.fromkeys(Memory, 0)
    for argument in signature.arrays:
        set_bytes[argument.memory] += signature.array_bytes(argument, benchmark.sizes, language)
    on_gpu = min(_POOL_BYTES, int(free_bytes * _POOL_SHARE)) // max(set_bytes[Memory.DEVICE], 1)
    on_host = min(_HOST_BYTES, int(host_free_bytes * _POOL_SHARE)) // max(set_bytes[Memory.HOST], 1)
    return max(_FEWEST_SETS, min(_MOST_SETS, on_gpu, on_host))


def combine(figures: Sequence[Mapping[Criterion, Sequence[float]]]) -> dict[Criterion, Estimate]:
    """Return the estimates of the geometric means over benchmarks; {} for too few rounds.

    A criterion counts only if all benchmarks have it.
    """
    found = {}
    for criterion in Criterion:
        of_all = [one[criterion] for one in figures if criterion in one]
        rounds = min(map(len, of_all), default=0)
        if len(of_all) == len(figures) and rounds >= fewest_rounds():
            found[criterion] = estimate(
                [geometric_mean([of_one[i] for of_one in of_all]) for i in range(rounds)]
            )
    return found


def _without_tiers(failure: Diagnosis, tiers: Sequence[Tier]) -> Diagnosis:
    """Return the failure; without tiers nothing is scored, so too slow is not measured."""
    if failure.verdict is not Verdict.TOO_SLOW or tiers:
        return failure
    return Diagnosis(Verdict.NOT_MEASURED, f"{failure.message}, {_UNSCORED}")


def _diagnosis(
    found: Found, decision: Decision, tiers: Sequence[Tier], roof_words: str
) -> Diagnosis:
    """Return the verdict; the message begins with the figure that decides."""
    speedup = f"{found[Criterion.TORCH].median:.2f} times as fast as torch"
    if not tiers:
        return Diagnosis(Verdict.NOT_MEASURED, f"{speedup}, {_UNSCORED}")
    by = found[decision.by]
    figure, also = speedup, ""
    if decision.by is Criterion.ROOF:
        figure, also = f"{by.median:.2f} {roof_words}", f"; {speedup}"
    interval = f"{by.low:.3f} to {by.high:.3f}"
    if decision.too_wide:
        return Diagnosis(
            Verdict.NOT_MEASURED,
            f"{figure}, but between {interval}: too uncertain to score in two measurements{also}",
            hint="grade again on a GPU that nothing else uses",
        )
    following = next(
        (t for t in tiers if not decision.tier or t.speedup > decision.tier.speedup), None
    )
    hint = f"the next tier is at {following.speedup:g}" if following else ""
    if following and following.roof is not None and Criterion.ROOF in found:
        hint += f", or at {following.roof:g} {roof_words}"
    if decision.undecided is not None:
        return Diagnosis(
            Verdict.INCONCLUSIVE if decision.undecided.accepted else Verdict.TOO_SLOW,
            f"{figure} ({interval}), as good as the tier at "
            f"{decision.undecided.asked[decision.by]:g}{also}",
            hint=hint,
        )
    fast = decision.tier is not None and decision.tier.accepted
    return Diagnosis(
        Verdict.ACCEPTED if fast else Verdict.TOO_SLOW, f"{figure} ({interval}){also}", hint=hint
    )
