"""From rounds to a verdict on speed: combination over benchmarks, message, memory."""

from __future__ import annotations

import contextlib
import dataclasses
import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from paths import REPOSITORY

from grader.assignment.expression import Expression
from grader.assignment.model import Benchmark
from grader.assignment.reader import read_assignment
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.performance import benchmarks as check
from grader.checks.performance import copy_bandwidth, figures
from grader.checks.performance.benchmarks import _diagnosis, combine, sets_for
from grader.checks.performance.copy_bandwidth import busy_diagnosis
from grader.checks.performance.measurement import (
    DRIFT_TOLERANCE,
    HOST_DRIFT_TOLERANCE,
    DriftTolerance,
    Measured,
    Round,
)
from grader.checks.performance.roof import WORDS, roof_kind, roof_shares, roofline_of
from grader.gpu.monitor import Peaks
from grader.report.verdict import Verdict
from grader.timing.decision import Criterion, Decision, Scale, Tier, decide
from grader.timing.estimate import Estimate
from grader.vocabulary import Language

SILU = read_assignment(REPOSITORY / "assignments" / "silu")
TORCH, ROOF = Criterion.TORCH, Criterion.ROOF
COPY = WORDS["copy"]
SLOW = Tier(speedup=0.5, share=0.4, accepted=False)
EVEN = Tier(speedup=1.0, share=1.0)
TIERS = (SLOW, EVEN)


def judged(low: float, median: float, high: float) -> tuple[Verdict, str, str]:
    found = {TORCH: Estimate(low=low, median=median, high=high, rounds=20)}
    sentence = _diagnosis(found, decide(found, TIERS), TIERS, COPY)
    return sentence.verdict, sentence.message, sentence.hint


def test_benchmarks_are_combined_round_by_round() -> None:
    rng = random.Random(3)
    weather = [rng.lognormvariate(0, 0.1) for _ in range(21)]
    # One size is twice as fast, one half as fast; a disturbance of both does not cancel.
    found = combine([{TORCH: [2 * w for w in weather]}, {TORCH: [0.5 / w for w in weather]}])
    one = found[TORCH]
    assert (one.low, one.median, one.high) == pytest.approx((1.0, 1.0, 1.0))
    assert one.rounds == 21


def test_a_share_of_the_roof_counts_only_if_all_benchmarks_have_one() -> None:
    both: dict[Criterion, list[float]] = {TORCH: [2.0] * 8, ROOF: [0.5] * 8}
    other: dict[Criterion, list[float]] = {TORCH: [2.0] * 8, ROOF: [0.125] * 8}
    assert combine([both, other])[ROOF].median == pytest.approx(0.25)
    assert set(combine([both, {TORCH: [2.0] * 8}])) == {TORCH}


QUICK, SLOW_WAITS = [1e-5] * 16, [2e-3] * 16  # of tiny kernels


def checked(
    monkeypatch: pytest.MonkeyPatch,
    one: Callable[..., Measured],
    waits: Callable[[], list[float]] = lambda: QUICK,
    *,
    benchmarks: int = 3,
    tiers: tuple[Tier, ...] = TIERS,
    scale: Scale = Scale.STEPS,
) -> check.SpeedOutcome:
    """Check the speed of three benchmarks, without a GPU."""
    state = SimpleNamespace(processes=())
    around = contextlib.nullcontext(SimpleNamespace(state=lambda: state, peaks=Peaks))
    monkeypatch.setattr(check, "exclusive_use", lambda uuid: contextlib.nullcontext())
    monkeypatch.setattr(check, "GpuMonitor", lambda uuid: around)
    monkeypatch.setattr(check, "copy_rate_gb_s", lambda: 1.0)
    monkeypatch.setattr(copy_bandwidth, "kernel_waits", waits)
    monkeypatch.setattr(copy_bandwidth, "_LOOK_AGAIN_S", 0.0)
    monkeypatch.setattr(check, "gpu_errors", lambda room=0: contextlib.nullcontext())
    monkeypatch.setattr(check, "loaded_baseline", lambda *_: contextlib.nullcontext())
    monkeypatch.setattr(check._Measuring, "one", one)
    monkeypatch.setattr(check, "performance_evidence", lambda *_: None)
    made = [
        Benchmark(name=str(n), sizes={"n": n}, bytes=Expression.parse("n"))
        for n in range(1, benchmarks + 1)
    ]
    bench: Any = SimpleNamespace(
        built=SimpleNamespace(language=Language.TRITON),
        assignment=dataclasses.replace(SILU, benchmarks=tuple(made)),
        server=None,
    )
    gpu: Any = SimpleNamespace(uuid="none")
    lent: Any = None
    return check.check_speed(bench, lent, lent, gpu, tiers, lambda name: None, scale=scale, seed=7)


def as_fast_as_torch(*_: Any) -> Measured:
    return Measured(rounds=(Round(baseline_s=1.0, submission_s=1.0),) * 20)


def test_no_benchmark_is_drawn_as_another_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Later workers may learn what an earlier one saw, which must not reveal their own inputs."""
    seeds: list[int] = []

    def one(*arguments: Any) -> Measured:
        seeds.append(next(a for a in arguments if isinstance(a, int)))
        return as_fast_as_torch()

    uncertain = Decision(tier=None, too_wide=True)
    monkeypatch.setattr(check, "decide", lambda *_: uncertain)  # so the measurement is repeated
    for _ in range(2):
        checked(monkeypatch, one)
    assert len(set(seeds[:6])) == 6, "three benchmarks, each measured twice"
    assert seeds[6:] == seeds[:6], "a run can be repeated"


@pytest.mark.parametrize(
    ("waits", "verdict"),
    [
        ((QUICK, QUICK), Verdict.ACCEPTED),
        ((SLOW_WAITS, QUICK, SLOW_WAITS, QUICK), Verdict.ACCEPTED),  # for a moment only
        ((SLOW_WAITS, SLOW_WAITS), Verdict.NOT_MEASURED),
        ((QUICK, SLOW_WAITS, SLOW_WAITS), Verdict.NOT_MEASURED),  # another process began meanwhile
    ],
)
def test_a_gpu_is_looked_at_before_and_after(
    monkeypatch: pytest.MonkeyPatch, waits: tuple[list[float], ...], verdict: Verdict
) -> None:
    looks = iter(waits)
    found = checked(monkeypatch, as_fast_as_torch, lambda: next(looks))
    assert found.diagnosis.verdict is verdict, found
    busy_reported = "another process keeps the GPU busy" in found.diagnosis.message
    assert busy_reported == (verdict is Verdict.NOT_MEASURED)
    assert found.share == (0.0 if busy_reported else 1.0)


@pytest.mark.parametrize(
    ("needed", "tuning_s", "shares"),
    [
        # All benchmarks take their whole share, and their workers 0.3 s to end; 0.5 s are reserved.
        ((9.0, 9.0, 9.0), 0.0, (2.2, 2.2, 2.2)),
        ((1.0, 9.0, 9.0), 0.0, (2.2, 2.8, 2.8)),  # time that one leaves over goes to the others
        ((9.0, 9.0, 9.0), 4.0, (2.2, 2.2, 2.2)),  # compiling and tuning are added on top
    ],
)
def test_all_benchmarks_share_a_budget_that_leaves_time_for_the_rest(
    monkeypatch: pytest.MonkeyPatch,
    needed: tuple[float, ...],
    tuning_s: float,
    shares: tuple[float, ...],
) -> None:
    now_s = 100.0
    budgets: list[float] = []

    def one(*arguments: Any) -> Measured:
        nonlocal now_s
        budget_s = next(a for a in arguments if isinstance(a, float))
        now_s += min(needed[len(budgets)], budget_s) + 0.3 + tuning_s
        budgets.append(budget_s)
        return dataclasses.replace(as_fast_as_torch(), tuning_s=tuning_s)

    monkeypatch.setattr(check, "time", SimpleNamespace(monotonic=lambda: now_s))
    found = checked(monkeypatch, one)
    assert budgets == pytest.approx(shares)
    assert found.tuning_s == pytest.approx(3 * tuning_s)
    assert now_s - 100 - 3 * tuning_s == pytest.approx(7.5)


def test_a_slow_gpu_has_half_of_its_share_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s, budgets = 100.0, []

    def one(*arguments: Any) -> Measured:
        nonlocal now_s
        budgets.append(next(a for a in arguments if isinstance(a, float)))
        now_s += 60
        return as_fast_as_torch()

    monkeypatch.setattr(check, "time", SimpleNamespace(monotonic=lambda: now_s))
    checked(monkeypatch, one)
    assert budgets == pytest.approx((2.2, 4 / 3, 4 / 3))


def test_a_second_try_has_as_much_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 100.0
    budgets: list[float] = []

    def one(*arguments: Any) -> Measured:
        nonlocal now_s
        budgets.append(next(a for a in arguments if isinstance(a, float)))
        now_s += budgets[-1] + 0.3
        return as_fast_as_torch()

    monkeypatch.setattr(check, "time", SimpleNamespace(monotonic=lambda: now_s))
    uncertain = Decision(tier=None, too_wide=True)
    monkeypatch.setattr(check, "decide", lambda *_: uncertain)
    assert checked(monkeypatch, one).diagnosis.verdict is Verdict.NOT_MEASURED
    assert budgets == pytest.approx([2.2] * 6)


def test_without_a_benchmark_nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    found = checked(monkeypatch, as_fast_as_torch, benchmarks=0)
    assert found.diagnosis.verdict is Verdict.NOT_MEASURED
    assert found.diagnosis.message == "the assignment has no benchmark for Triton"


@pytest.mark.parametrize(
    ("tiers", "verdict"), [(TIERS, Verdict.TOO_SLOW), ((), Verdict.NOT_MEASURED)]
)
def test_a_hopeless_call_is_shown_and_not_scored_without_tiers(
    monkeypatch: pytest.MonkeyPatch, tiers: tuple[Tier, ...], verdict: Verdict
) -> None:
    hopeless = Diagnosis(Verdict.TOO_SLOW, "a call takes 4.0 s")
    found = checked(monkeypatch, lambda *_: Measured(failure=hopeless, tuning_s=2.0), tiers=tiers)
    assert found.diagnosis.verdict is verdict
    assert found.diagnosis.message.startswith("a call takes 4.0 s")
    assert found.tuning_s == 2.0


@pytest.mark.parametrize(
    ("name", "tolerance"),
    [
        ("silu", DRIFT_TOLERANCE),
        ("copy_first_column", HOST_DRIFT_TOLERANCE),
        ("gemm", DRIFT_TOLERANCE),
    ],
)
def test_only_where_torch_reads_the_hosts_memory_it_may_differ_by_more(
    monkeypatch: pytest.MonkeyPatch, name: str, tolerance: DriftTolerance
) -> None:
    assignment = read_assignment(REPOSITORY / "assignments" / name)
    asked: list[DriftTolerance] = []

    def measured(*_: Any, tolerance: DriftTolerance, **__: Any) -> Measured:
        asked.append(tolerance)
        return as_fast_as_torch()

    monkeypatch.setattr(check, "open_buffer_pool", lambda *_, **__: contextlib.nullcontext())
    monkeypatch.setattr(check, "measure", measured)
    anything: Any = SimpleNamespace(language=Language.CUDA, memory_free_mib=1 << 14)
    bench: Any = SimpleNamespace(assignment=assignment, built=anything)
    monitor: Any = SimpleNamespace(disturbances=lambda: ())
    benchmark = assignment.benchmarks[0]
    measuring = check._Measuring(
        bench,
        anything,
        anything,
        anything,
        anything,
        [benchmark],
        monitor,
        TIERS,
        Scale.STEPS,
        None,
    )
    measuring.one(benchmark, 7, 8.0)
    assert asked == [tolerance]


def test_a_gpu_that_works_for_others_too_is_reported() -> None:
    quick = [1.2e-5, 1.3e-5, 1.5e-5] * 30
    assert busy_diagnosis(quick) is None
    assert busy_diagnosis([*quick, 3e-3, 4e-3]) is None, "a few prove nothing"
    busy = busy_diagnosis(quick + [2e-3] * 30)  # behind the time slices of another process
    assert busy is not None
    assert busy.verdict is Verdict.NOT_MEASURED
    assert "done after 2.0 ms: another process keeps the GPU busy" in busy.message


def test_the_fewest_rounds_of_a_benchmark_are_taken() -> None:
    found = combine([{TORCH: [1.0] * 30}, {TORCH: [1.0] * 8}])
    assert found[TORCH].rounds == 8


@pytest.mark.parametrize("ratios", [[], [[1.0] * 5], [[1.0] * 30, [1.0] * 5]])
def test_too_few_rounds_say_nothing(ratios: list[list[float]]) -> None:
    assert combine([{TORCH: of_one} for of_one in ratios]) == {}


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        ((0.30, 0.31, 0.32), Verdict.TOO_SLOW),  # no tier
        ((0.60, 0.61, 0.62), Verdict.TOO_SLOW),  # a tier that earns a share, below the accepted one
        ((0.49, 0.50, 0.51), Verdict.TOO_SLOW),  # undecided about a tier that is not accepted
        ((0.98, 0.99, 1.01), Verdict.INCONCLUSIVE),
        ((1.01, 1.02, 1.03), Verdict.ACCEPTED),
        ((0.80, 1.00, 1.30), Verdict.INCONCLUSIVE),
        ((0.60, 0.80, 1.30), Verdict.NOT_MEASURED),
    ],
)
def test_verdict_follows_the_tiers(interval: tuple[float, float, float], verdict: Verdict) -> None:
    assert judged(*interval)[0] is verdict


def test_sentence_has_figure_interval_and_what_comes_next() -> None:
    _, message, hint = judged(0.60, 0.61, 0.62)
    assert message == "0.61 times as fast as torch (0.600 to 0.620)"
    assert hint == "the next tier is at 1"


ROOFED = (Tier(speedup=1.0, roof=0.5, share=0.6), Tier(speedup=2.9, roof=0.85, share=1.0))


@pytest.mark.parametrize(
    ("roof", "verdict", "message", "hint"),
    [
        (
            (0.90, 0.91, 0.92),
            Verdict.ACCEPTED,
            "0.91 of the copy's bandwidth (0.900 to 0.920); 2.00 times as fast as torch",
            "",
        ),
        (
            (0.83, 0.84, 0.86),
            Verdict.INCONCLUSIVE,
            "0.84 of the copy's bandwidth (0.830 to 0.860), as good as the tier at 0.85; "
            "2.00 times as fast as torch",
            "",
        ),
        (
            (0.30, 0.30, 0.30),
            Verdict.ACCEPTED,
            "2.00 times as fast as torch (1.990 to 2.010)",
            "the next tier is at 2.9, or at 0.85 of the copy's bandwidth",
        ),
        (
            (0.60, 0.70, 0.95),
            Verdict.NOT_MEASURED,
            "0.70 of the copy's bandwidth, but between 0.600 to 0.950: too uncertain to score in "
            "two measurements; 2.00 times as fast as torch",
            "grade again on a GPU that nothing else uses",
        ),
    ],
)
def test_sentence_says_which_figure_counts(
    roof: tuple[float, float, float], verdict: Verdict, message: str, hint: str
) -> None:
    low, median, high = roof
    found = {
        TORCH: Estimate(low=1.99, median=2.0, high=2.01, rounds=20),
        ROOF: Estimate(low=low, median=median, high=high, rounds=20),
    }
    decided = _diagnosis(found, decide(found, ROOFED), ROOFED, COPY)
    assert (decided.verdict, decided.message, decided.hint) == (verdict, message, hint)


def test_a_share_of_the_roofline_is_measured_with_the_runs_own_copy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The copy moves 1 GB/s here, and a call n bytes in n / 0.8 ns."""

    def one(*arguments: Any) -> Measured:
        benchmark = next(a for a in arguments if isinstance(a, Benchmark))
        call_s = benchmark.sizes["n"] / 0.8e9
        return Measured(rounds=(Round(baseline_s=call_s, submission_s=call_s),) * 20)

    tiers = (Tier(speedup=1.5, roof=0.5, share=0.6), Tier(speedup=1.9, roof=0.9, share=1.0))
    found = checked(monkeypatch, one, tiers=tiers)
    assert found.diagnosis.verdict is Verdict.ACCEPTED
    assert found.diagnosis.message.startswith("0.80 of the copy's bandwidth (0.800 to 0.800)")
    assert found.share == 0.6
    linear = checked(monkeypatch, one, tiers=tiers, scale=Scale.LINEAR)
    assert linear.share == pytest.approx(0.6 + 0.4 * 0.3 / 0.4)


@pytest.mark.parametrize(
    ("name", "language", "peaks", "kind", "work_s"),
    [
        # 2 arrays of 2**26 floats at 1000 GB/s.
        ("silu", Language.CUDA, Peaks(), "copy", 8 * 2**26 / 1e12),
        # 2 n**3 operations at 10 and at 100 TFLOP/s; the first of three benchmarks.
        ("gemm", Language.CUDA, Peaks(fp32_tflop_s=10.0), "peak", 2 * 4096**3 / 1e13),
        ("gemm", Language.TRITON, Peaks(fp16_tflop_s=100.0), "peak", 2 * 4096**3 / 1e14),
        # Without a peak the least time is unknown.
        ("gemm", Language.TRITON, Peaks(fp32_tflop_s=10.0), None, None),
        ("copy_first_column", Language.CUDA, Peaks(fp32_tflop_s=10.0), None, None),
    ],
)
def test_the_roof_is_the_copy_or_the_peak_in_the_arrays_type(
    name: str, language: Language, peaks: Peaks, kind: str | None, work_s: float | None
) -> None:
    assignment = read_assignment(REPOSITORY / "assignments" / name)
    roofline = roofline_of(assignment, language, assignment.benchmarks, 1000.0, peaks)
    rounds = [Round(baseline_s=1.0, submission_s=0.5)] * 3
    shares = roof_shares(assignment, language, assignment.benchmarks[0], roofline, rounds)
    assert shares == (None if work_s is None else pytest.approx([work_s / 0.5] * 3))
    if shares is not None and roofline is not None:
        assert roof_kind(assignment, language, assignment.benchmarks, roofline) == kind


def test_evidence_has_both_figures_and_the_share_of_the_points() -> None:
    assignment = read_assignment(REPOSITORY / "assignments" / "gemm")
    clocks = SimpleNamespace(sm_mhz=1980, memory_mhz=2619)
    state = SimpleNamespace(clocks=clocks, temperature_c=40, throttle_reasons=())
    monitor: Any = SimpleNamespace(
        state=lambda: state, peaks=lambda: Peaks(memory_gb_s=3350.0, fp16_tflop_s=1000.0)
    )
    rounds = (Round(baseline_s=2e-4, submission_s=2.5e-4),) * 8
    measured = [(one, Measured(rounds=rounds)) for one in assignment.benchmarks]
    found = {
        TORCH: Estimate(low=0.79, median=0.8, high=0.81, rounds=8),
        ROOF: Estimate(low=0.54, median=0.55, high=0.56, rounds=8),
    }
    tiers = (Tier(speedup=0.7, roof=0.4, share=0.6), Tier(speedup=0.9, roof=0.5, share=1.0))
    roofline = roofline_of(
        assignment, Language.TRITON, assignment.benchmarks, 2970.0, monitor.peaks()
    )
    made = figures.performance_evidence(
        assignment, Language.TRITON, measured, found, decide(found, tiers), tiers, Scale.STEPS,
        2970.0, roofline, monitor, 0,
    )  # fmt: skip
    assert (made.speedup, made.roof, made.roof_low, made.roof_high) == (0.8, 0.55, 0.54, 0.56)
    assert (made.roof_kind, made.peak_tflop_s, made.roof_gb_s) == ("peak", 1000.0, 2970.0)
    assert (made.reached_by, made.share, made.scale) == ("roof", 1.0, "steps")
    assert [(tier.roof, tier.reached) for tier in made.tiers] == [(0.4, True), (0.5, True)]
    first = made.benchmarks[0]
    assert first.peak_share == pytest.approx(2 * 4096**3 / 2.5e-4 / 1e15, abs=1e-4)
    assert first.tflop_s == pytest.approx(549.756, abs=1e-3)


def test_without_tiers_the_figure_is_shown_and_not_scored() -> None:
    found = {TORCH: Estimate(low=1.0, median=1.1, high=1.2, rounds=9)}
    sentence = _diagnosis(found, decide(found, ()), (), COPY)
    assert sentence.verdict is Verdict.NOT_MEASURED
    assert "shown and not scored" in sentence.message


@pytest.mark.parametrize(
    ("n", "free_gib", "sets"),
    [
        (1 << 26, 140, 16),  # 512 MiB a set, within 8 GiB
        (1 << 26, 14, 7),  # a T4: a quarter of what is free
        (1 << 20, 14, 64),
        (1 << 29, 14, 2),  # never fewer than two
    ],
)
def test_sets_fit_the_memory(n: int, free_gib: int, sets: int) -> None:
    benchmark = Benchmark(name="n", sizes={"n": n}, bytes=Expression.parse("8 * n"))
    assert sets_for(SILU, benchmark, Language.CUDA, free_gib << 30, 64 << 30) == sets


@pytest.mark.parametrize(("name", "share"), [("silu", 0.25), ("copy_first_column", None)])
def test_what_the_host_takes_part_in_has_no_roof_of_the_gpus(
    name: str, share: float | None
) -> None:
    assignment = read_assignment(REPOSITORY / "assignments" / name)
    benchmark = assignment.benchmarks[0]
    values = {**benchmark.sizes, "size": 4}
    submission_s = benchmark.bytes.evaluate(values) / 123_456_789  # bytes per second
    rounds = (Round(baseline_s=1.0, submission_s=submission_s),) * 9
    roofline = roofline_of(assignment, Language.CUDA, [benchmark], 4 * 0.123456789, Peaks())
    found = figures.timing_of(
        assignment, Language.CUDA, benchmark, Measured(rounds=rounds), roofline
    )
    assert found.gb_s == 0.123, "not 0.1: a column is little to move"
    assert found.roof_share == share
