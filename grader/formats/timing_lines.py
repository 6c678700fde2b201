"""The details of a performance check: a table row for each benchmark, then the tiers."""

from __future__ import annotations

from grader.assignment.calibration import BenchmarkFigure
from grader.formats.deduplication import INDENT
from grader.formats.page import Page
from grader.report.evidence import BenchmarkTiming, PerformanceEvidence
from grader.text.numbers import three_digits

TIMING_HEADER = ("benchmark", "torch", "yours", "times torch", "rate", "of roofline", "rounds")


def write_timing(page: Page, evidence: PerformanceEvidence) -> None:
    """Add a table of the benchmarks, the tiers, and the flags for staff."""
    if evidence.benchmarks:
        page.table(
            TIMING_HEADER, [timing_row(timing) for timing in evidence.benchmarks], indent=INDENT
        )
    if evidence.tiers:
        tiers = " · ".join(
            f"{tier.speedup:g}"
            + (f" or {tier.roof:.3g} of the roofline" if tier.roof is not None else "")
            + f" earns {tier.share:.0%}"
            + (", reached" if tier.reached else "")
            for tier in evidence.tiers
        )
        earned = ""
        if evidence.scale == "linear" and evidence.share is not None:
            earned = f"; in proportion between them, here {evidence.share:.0%}"
        page.sentence(f"tiers, in times torch: {tiers}{earned}", indent=INDENT)
    for flag in evidence.flags:
        page.sentence(f"for staff: {flag}", indent=INDENT)


def timing_row(timing: BenchmarkTiming) -> tuple[str, ...]:
    """Return the row of a benchmark below `TIMING_HEADER`."""
    return (
        timing.name,
        f"{timing.baseline_us:.1f} us",
        f"{timing.submission_us:.1f} us",
        f"{timing.speedup:.3f} ({timing.low:.3f} to {timing.high:.3f})",
        *rate_and_share(timing),
        str(timing.rounds),
    )


def rate_and_share(timing: BenchmarkTiming | BenchmarkFigure) -> tuple[str, str]:
    """Return the rate (TFLOP/s, or GB/s if there is none) and its share of the roofline."""
    rate = f"{three_digits(timing.gb_s)} GB/s"
    if timing.tflop_s is not None:
        rate = f"{three_digits(timing.tflop_s)} TFLOP/s"
    shares = [share for share in (timing.roof_share, timing.peak_share) if share is not None]
    return rate, f"{max(shares):.0%}" if shares else ""
