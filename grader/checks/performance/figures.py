"""Turn measurements into the report's figures, with flags for staff."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from grader.assignment.model import Assignment, Benchmark
from grader.checks.performance.measurement import Measured
from grader.gpu.monitor import GpuMonitor, Peaks
from grader.report.evidence import BenchmarkTiming, PerformanceEvidence, TierShown
from grader.timing.decision import Decision, Tier
from grader.timing.estimate import Estimate
from grader.vocabulary import Language, Memory

# A flagged rate exceeds what the clocks allow by more than the clocks' inexactness.
_BEYOND = 1.05
_DISTURBED = 1.1


def performance_evidence(
    assignment: Assignment,
    language: Language,
    measured: Sequence[tuple[Benchmark, Measured]],
    found: Estimate | None,
    decision: Decision | None,
    tiers: Sequence[Tier],
    roof_gb_s: float,
    monitor: GpuMonitor,
    other_processes: int,
) -> PerformanceEvidence:
    """Return the evidence of a measurement; `other_processes` counts those on the GPU."""
    state, peaks = monitor.state(), monitor.peaks()
    timings = tuple(
        timing_of(assignment, language, benchmark, one, roof_gb_s)
        for benchmark, one in measured
        if one.rounds
    )
    best = decision.tier.speedup if decision and decision.tier and not decision.too_wide else 0.0
    return PerformanceEvidence(
        benchmarks=timings,
        speedup=round(found.median, 4) if found else None,
        low=round(found.low, 4) if found else None,
        high=round(found.high, 4) if found else None,
        tiers=tuple(
            TierShown(
                speedup=tier.speedup,
                share=tier.share,
                accepted=tier.accepted,
                reached=tier.speedup <= best,
            )
            for tier in tiers
        ),
        roof_gb_s=round(roof_gb_s, 1),
        sm_mhz=state.clocks.sm_mhz,
        memory_mhz=state.clocks.memory_mhz,
        temperature_c=state.temperature_c,
        throttle_reasons=state.throttle_reasons,
        flags=tuple(
            _flags(timings, peaks, other_processes, float32=_all_float32(assignment, language))
        ),
    )


def timing_of(
    assignment: Assignment,
    language: Language,
    benchmark: Benchmark,
    one: Measured,
    roof_gb_s: float,
) -> BenchmarkTiming:
    """Return the figures of one benchmark that has rounds."""
    signature = assignment.signature
    size = signature.element_type(signature.arrays[0], language).size
    values = {**benchmark.sizes, "size": size}
    submission_s = statistics.median(r.submission_s for r in one.rounds)
    gb_s = benchmark.bytes.evaluate(values) / submission_s / 1e9
    flops = benchmark.flops.evaluate(values) if benchmark.flops else None
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
        tflop_s=round(flops / submission_s / 1e12, 3) if flops else None,
        # A share of the copy bandwidth makes sense only for the GPU's own memory.
        roof_share=(
            round(gb_s / roof_gb_s, 4) if roof_gb_s and not from_host(assignment) else None
        ),
        baseline_rounds_us=tuple(round(r.baseline_s * 1e6, 3) for r in one.rounds),
        submission_rounds_us=tuple(round(r.submission_s * 1e6, 3) for r in one.rounds),
    )


def from_host(assignment: Assignment) -> bool:
    """True if an array lies in host memory."""
    return any(array.memory is Memory.HOST for array in assignment.signature.arrays)


def _all_float32(assignment: Assignment, language: Language) -> bool:
    """True if all arrays are float32, which tensor cores would round."""
    signature = assignment.signature
    words = {signature.element_type(array, language).word for array in signature.arrays}
    return words == {"float32"}


def _flags(
    timings: Sequence[BenchmarkTiming], peaks: Peaks, other_processes: int, *, float32: bool
) -> list[str]:
    """Return what staff should look at; a flag changes no verdict."""
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
        if float32 and peaks.fp32_tflop_s and (timing.tflop_s or 0) > _BEYOND * peaks.fp32_tflop_s
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
