"""The essence of a page's figures as small tables: where it is wrong, what is moved, how fast."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.formats.timing_lines import TIMING_HEADER, timing_row
from grader.report.evidence import (
    CaseResult,
    CorrectnessEvidence,
    CounterFigure,
    CountersEvidence,
    PerformanceEvidence,
)
from grader.report.model import CheckResult
from grader.text.sizes import case_text
from grader.vocabulary import Visibility

MOST_CASES = 8
MOST_BENCHMARKS = 20
_NAMES = {
    "load_sectors": "loads from global memory",
    "store_sectors": "stores to global memory",
    "shared_wavefronts": "shared memory",
    "traffic": "all bytes moved",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceTable:
    """A table; the first `text` columns are text, with names of the spec or the submission."""

    caption: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    text: int = 1


def evidence_tables(check: CheckResult) -> Iterator[EvidenceTable]:
    """Yield the tables of a check's evidence; none of a check that is not visible."""
    if check.visibility is not Visibility.VISIBLE:
        return
    evidence = check.evidence
    if isinstance(evidence, CorrectnessEvidence):
        wrong = [case for case in evidence.cases if case.mismatched]
        if wrong:
            yield EvidenceTable(
                caption="where it is wrong",
                text=2,
                header=("case", "which", "wrong elements", "largest error"),
                rows=[_region(case) for case in wrong[:MOST_CASES]],
            )
    elif isinstance(evidence, CountersEvidence):
        counted = [figure for figure in evidence.figures if figure.measured or figure.least]
        if counted:
            yield EvidenceTable(
                caption=f"memory accesses, counted on {evidence.case}",
                header=("access", "moved", "the least", "times the least", "allowed"),
                rows=[_counted(figure) for figure in counted],
            )
    elif isinstance(evidence, PerformanceEvidence) and evidence.benchmarks:
        yield EvidenceTable(
            caption="time: medians, with the interval that holds the true one with 95 %",
            header=TIMING_HEADER,
            rows=[timing_row(timing) for timing in evidence.benchmarks[:MOST_BENCHMARKS]],
        )


def _region(case: CaseResult) -> tuple[str, ...]:
    error = "" if case.max_error is None else f"{case.max_error:.3g}"
    name = case_text(case.name, case.sizes, case.title)
    return name, case.pattern or "", f"{case.mismatched:,} of {case.elements:,}", error


def _counted(figure: CounterFigure) -> tuple[str, ...]:
    return (
        _NAMES[figure.name],
        f"{figure.measured:,} {figure.unit}",
        f"{figure.least:,}",
        "" if figure.ratio is None else f"{figure.ratio:.2f}",
        "" if figure.allowed is None else f"{figure.allowed:g}",
    )
