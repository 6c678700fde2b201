"""Make the ladders' tables in docs/ladders.md: kernel, time, rate, times torch, tier.

    python tools/ladder_tables.py

The figures are those that `grade calibrate` stores beside the specs. The tables go
between the page's markers. Needs no GPU.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

REPOSITORY = Path(__file__).resolve().parent.parent
PAGE = REPOSITORY / "docs" / "ladders.md"
BEGIN, END = "<!-- ladders: begin -->", "<!-- ladders: end -->"
sys.path[:0] = [str(REPOSITORY)]

from grader.assignment.calibration import BenchmarkFigure, Calibration, SourceFigure, calibrations
from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.text.numbers import three_digits
from grader.timing.decision import Tier
from grader.timing.proposal import margin


def ladders(root: Path) -> str:
    """Return a table for each assignment and calibrated GPU."""
    parts = []
    for folder in sorted(path.parent for path in root.glob("*/assignment.toml")):
        assignment = read_assignment(folder)
        parts += [_ladder(assignment, calibration) for calibration in calibrations(folder)]
    return "\n".join(parts) or "Not yet measured: no GPU has been calibrated.\n"


def _ladder(assignment: Assignment, calibration: Calibration) -> str:
    lines = [
        f"### {assignment.title} on {calibration.gpu}",
        "",
        "| kernel | language | submission | benchmark | torch | time | rate | × torch | tier |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for kernel in assignment.kernels:
        for language in kernel.files:
            tiers = calibration.tiers(kernel, language)
            for figure in calibration.of(kernel.name, language):
                lines += [
                    _row(kernel.title, figure, benchmark, tiers) for benchmark in figure.benchmarks
                ]
    return "\n".join(lines) + "\n"


def _row(
    title: str, figure: SourceFigure, benchmark: BenchmarkFigure, tiers: tuple[Tier, ...]
) -> str:
    rate = (
        f"{three_digits(benchmark.gb_s)} GB/s"
        if benchmark.tflop_s is None
        else f"{three_digits(benchmark.tflop_s)} TFLOP/s"
    )
    reached = [tier for tier in tiers if margin(figure.figures, tier) >= 1]
    tier = f"{reached[-1].speedup:g}" if reached else ("below" if tiers else "none set")
    times = f"{benchmark.baseline_us:.0f} us", f"{benchmark.submission_us:.0f} us"
    cells = (title, figure.language.phrase, figure.hand_in, benchmark.name, *times, rate,
             three_digits(benchmark.speedup), tier)  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def with_tables(text: str, tables: str) -> str:
    """Return the document with the text between its markers replaced."""
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n\n{tables}\n{END}{after}"


@click.command()
def main() -> None:
    """Write the tables into the page."""
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_tables(text, ladders(REPOSITORY / "assignments")), encoding="utf-8")


if __name__ == "__main__":
    main()
