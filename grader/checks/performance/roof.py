"""The share of the roofline that a kernel reaches, round by round.

The roofline is that of the same GPU in the same run: the copy bandwidth that the judge has measured
before any worker ran, and the peak of the arithmetic units at their highest clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grader.assignment.model import Assignment, Benchmark
from grader.checks.performance.measurement import Round
from grader.gpu.monitor import Peaks
from grader.report.evidence import RoofKind
from grader.timing.roofline import Point, Roofline
from grader.vocabulary import Language

# In words, behind a share.
WORDS: dict[RoofKind, str] = {
    "copy": "of the copy's bandwidth",
    "peak": "of the GPU's arithmetic peak",
    "mixed": "of the roofline",
}


def roofline_of(
    assignment: Assignment,
    language: Language,
    benchmarks: Iterable[Benchmark],
    copy_gb_s: float,
    peaks: Peaks,
) -> Roofline | None:
    """Return the roofline for the benchmarks; None if an array is in host memory.

    It has no peak of arithmetic if they compute in types with several peaks.
    """
    if assignment.signature.in_host_memory or not copy_gb_s:
        return None
    kinds = {assignment.signature_of(one).arithmetic(language) for one in benchmarks}
    return Roofline(gb_s=copy_gb_s, tflop_s=peaks.tflop_s(kinds.pop() if len(kinds) == 1 else None))


def roof_shares(
    assignment: Assignment,
    language: Language,
    benchmark: Benchmark,
    roofline: Roofline | None,
    rounds: Sequence[Round],
) -> list[float] | None:
    """Return the share of the roofline in each round.

    None without a roofline, or if the benchmark counts operations whose peak is unknown.
    """
    work = work_of(assignment, language, benchmark)
    if roofline is None or (work.tflop_s is not None and roofline.tflop_s is None):
        return None
    return [roofline.share(work) / one.submission_s for one in rounds]


def roof_kind(
    assignment: Assignment,
    language: Language,
    benchmarks: Sequence[Benchmark],
    roofline: Roofline,
) -> RoofKind:
    """Return which part of the roofline bounds the benchmarks."""
    bounds = {roofline.bound(work_of(assignment, language, one)) for one in benchmarks}
    if len(bounds) > 1:
        return "mixed"
    return "copy" if bounds == {"memory"} else "peak"


def work_of(assignment: Assignment, language: Language, benchmark: Benchmark) -> Point:
    """Return the fewest bytes and operations of a call, as the rates of a call of one second."""
    signature = assignment.signature_of(benchmark)
    size = signature.element_type(signature.arrays[0], language).size
    values = {**benchmark.sizes, "size": size}
    return Point(
        name=benchmark.name,
        gb_s=benchmark.bytes.evaluate(values) / 1e9,
        tflop_s=benchmark.flops.evaluate(values) / 1e12 if benchmark.flops else None,
    )
