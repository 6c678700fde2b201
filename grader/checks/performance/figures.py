"""Turn measurements into the report's figures, with flags for staff."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from grader.assignment.model import Assignment, Benchmark
from grader.checks.performance.measurement import Measured
from grader.checks.performance.roof import roof_kind, work_of
from grader.gpu.monitor import GpuMonitor, Peaks
from grader.report.evidence import BenchmarkTiming, PerformanceEvidence, TierShown
from grader.timing.decision import Criterion, Decision, Found, Scale, Tier, share_of
from grader.timing.roofline import Roofline
from grader.vocabulary import Language

# A flagged rate exceeds what the clocks allow by more than the clocks' inexactness.
_BEYOND = 1.05
_DISTURBED = 1.1


def performance_evidence(
    assignment: Assignment,
    language: Language,
    measured: Sequence[tuple[Benchmark, Measured]],
    found: Found,
    decision: Decision | None,
    tiers: Sequence[Tier],
    scale: Scale,
    copy_gb_s: float,
    roofline: Roofline | None,
    monitor: GpuMonitor,
    other_processes: int,
) -> PerformanceEvidence:
    """Return the evidence of a measurement; `other_processes` counts those on the GPU."""
    state, peaks = monitor.state(), monitor.peaks()
    timings = tuple(
        timing_of(assignment, language, benchmark, one, roofline)
        for benchmark, one in measured
        if one.rounds
    )
    speedup, roof = found.get(Criterion.TORCH), found.get(Criterion.ROOF)
    scored = decision is not None and not decision.too_wide and bool(tiers)
    best = decision.tier if decision is not None and scored else None
    return PerformanceEvidence(
        benchmarks=timings,
        speedup=round(speedup.median, 4) if speedup else None,
        low=round(speedup.low, 4) if speedup else None,
        high=round(speedup.high, 4) if speedup else None,
        roof=round(roof.median, 4) if roof else None,
        roof_low=round(roof.low, 4) if roof else None,
        roof_high=round(roof.high, 4) if roof else None,
        roof_kind=(
            roof_kind(assignment, language, [benchmark for benchmark, _ in measured], roofline)
            if roof and roofline
            else None
        ),
        tiers=tuple(
            TierShown(
                speedup=tier.speedup,
                roof=tier.roof,
                share=tier.share,
                accepted=tier.accepted,
                reached=best is not None and tier.speedup <= best.speedup,
            )
            for tier in tiers
        ),
        scale=scale.value,
        share=(
            round(share_of(found, decision, tiers, scale), 4)
            if decision is not None and scored
            else None
        ),
        reached_by=decision.by.value if decision is not None and best is not None else None,
        roof_gb_s=round(copy_gb_s, 1),
        peak_tflop_s=round(roofline.tflop_s, 1) if roofline and roofline.tflop_s else None,
        sm_mhz=state.clocks.sm_mhz,
        memory_mhz=state.clocks.memory_mhz,
        temperature_c=state.temperature_c,
        throttle_reasons=state.throttle_reasons,
        flags=tuple(
            _flags(
                timings,
                peaks,
                other_processes,
                float32={
                    benchmark.name
                    for benchmark, _ in measured
                    if assignment.signature_of(benchmark).arithmetic(language) == "float32"
                },
            )
        ),
    )


def timing_of(
    assignment: Assignment,
    language: Language,
    benchmark: Benchmark,
    one: Measured,
    roofline: Roofline | None,
) -> BenchmarkTiming:
    """Return the figures of one benchmark that has rounds."""
    work = work_of(assignment, language, benchmark)
    submission_s = statistics.median(r.submission_s for r in one.rounds)
    gb_s = work.gb_s / submission_s
    tflop_s = work.tflop_s / submission_s if work.tflop_s is not None else None
    peak_tflop_s = roofline.tflop_s if roofline else None
    ratios = one.rounds_ratios
    return BenchmarkTiming(
        name=benchmark.name,
        sizes=dict(benchmark.sizes),
        baseline_us=round(statistics.median(r.baseline_s for r in one.rounds) * 1e6, 3),
        submission_us=round(submission_s * 1e6, 3),
        speedup=round(statistics.median(ratios), 4),
        low=round(one.found.low, 4) if one.found else min(ratios),
        high=round(one.found.high, 4) if one.found else max(ratios),
        speedups=tuple(round(ratio, 4) for ratio in ratios),
        rounds=len(ratios),
        discarded=one.discarded,
        calls_per_round=one.calls_per_round,
        overhead_us=round(one.overhead_s * 1e6, 1),
        baseline_alone_us=round(one.alone_s * 1e6, 3),
        gb_s=round(gb_s, 3),
        tflop_s=round(tflop_s, 3) if tflop_s else None,
        roof_share=round(gb_s / roofline.gb_s, 4) if roofline else None,
        peak_share=round(tflop_s / peak_tflop_s, 4) if tflop_s and peak_tflop_s else None,
        baseline_rounds_us=tuple(round(r.baseline_s * 1e6, 3) for r in one.rounds),
        submission_rounds_us=tuple(round(r.submission_s * 1e6, 3) for r in one.rounds),
    )


def _flags(
    timings: Sequence[BenchmarkTiming], peaks: Peaks, other_processes: int, *, float32: set[str]
) -> list[str]:
    """Return what staff should look at; a flag changes no verdict.

    `float32` names the benchmarks that compute in this type.
    """
    found = [
        f"{timing.name}: {timing.gb_s:.0f} GB/s, more than the {peaks.memory_gb_s:.0f} GB/s that "
        "this GPU's memory can move"
        for timing in timings
        if peaks.memory_gb_s and timing.gb_s > _BEYOND * peaks.memory_gb_s
    ]
    found += [
        f"{timing.name}: {timing.tflop_s:.1f} TFLOP/s in float32, more than the "
        f"{peaks.fp32_tflop_s:.1f} TFLOP/s of this GPU without its tensor cores"
        for timing in timings
        if timing.name in float32
        and peaks.fp32_tflop_s
        and (timing.tflop_s or 0) > _BEYOND * peaks.fp32_tflop_s
    ]
    # Only kernels that read host memory are scored despite such a difference.
    found += [
        f"{timing.name}: torch took {timing.baseline_alone_us:.1f} us alone and "
        f"{timing.baseline_us:.1f} us beside the submission, which is accepted for kernels that "
        "read host memory"
        for timing in timings
        if timing.baseline_us > _DISTURBED * timing.baseline_alone_us
    ]
    if other_processes > 0:
        found.append(f"{other_processes} other processes hold memory of this GPU")
    return found
