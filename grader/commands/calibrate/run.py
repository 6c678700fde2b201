"""`grade calibrate`: what is measured, as staff see it.

The spec's own tiers are theirs to change: the proposal is printed as lines to
paste, with a warning where a figure comes too near one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from grader.assignment.model import Assignment
from grader.commands.calibrate.measure import (
    ALL,
    Figure,
    Part,
    calibrate,
    kept_figures,
    proposals,
    warnings,
    write_calibration,
)
from grader.errors import UsageError
from grader.gpu.nvml import Gpu
from grader.grading.progress import progress_on
from grader.grading.selection import check_kernels
from grader.text.numbers import three_digits


def print_calibration(
    assignment: Assignment, figures: Sequence[Figure], gpu: Gpu, console: Console
) -> None:
    """Print the table, what does not fit the spec's tiers, and tiers to paste."""
    console.print(f"{assignment.title} on {gpu.name}", highlight=False, markup=False)
    console.print(figures_table(figures))
    for warning in warnings(assignment, figures, gpu):
        console.print(warning, markup=False, highlight=False)
    for (kernel, language), proposal in proposals(figures).items():
        tiers = ", ".join(
            f"{{ speedup = {tier.speedup:g}, share = {tier.share:g} }}" for tier in proposal.tiers
        )
        console.print(
            f"proposed for {kernel}: tiers.{language} = [{tiers}]",
            markup=False, highlight=False, soft_wrap=True,
        )  # fmt: skip
        for sentence in proposal.sensitive:
            console.print(f"  sensitive: {sentence}", markup=False, highlight=False)


def figures_table(figures: Sequence[Figure]) -> Table:
    """Return a row for each benchmark of each hand-in."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("kernel", "language", "hand-in", "benchmark", "torch", "time", "times torch",
                   "rate", "of the roof"):  # fmt: skip
        table.add_column(column)
    for figure in figures:
        head = figure.kernel, figure.language.phrase, figure.hand_in
        if figure.evidence is None:
            table.add_row(*head, figure.problem or "")
            continue
        for timing in figure.evidence.benchmarks:
            rate = f"{three_digits(timing.gb_s)} GB/s"
            if timing.tflop_s is not None:
                rate = f"{three_digits(timing.tflop_s)} TFLOP/s"
            table.add_row(
                *head,
                timing.name,
                f"{timing.baseline_us:.1f} us",
                f"{timing.submission_us:.1f} us",
                three_digits(timing.speedup),
                rate,
                "" if timing.roof_share is None else f"{timing.roof_share:.0%}",
            )
    return table


def run_calibrate(
    assignments: Sequence[Assignment],
    references: Path,
    gpu: Gpu,
    *,
    seed: int,
    keep: bool,
    part: Part = ALL,
) -> None:
    """Calibrate each assignment, print what was found, and keep it unless told not to.

    Of one that is interrupted what was measured is printed, and nothing kept.
    """
    console = Console()
    check_kernels(part.kernels, list(assignments))
    others = {one.name: kept_figures(one, gpu, part) for one in assignments}
    for assignment in assignments:
        figures: list[Figure] = []
        try:
            with progress_on(Console(stderr=True)) as progress:
                for figure in calibrate(
                    assignment, references, gpu, progress, seed=seed, part=part
                ):
                    figures.append(figure)
        except BaseException:
            if figures:
                console.print(figures_table(figures))
            raise
        if not figures:
            raise UsageError(
                f"{assignment.name} has no solved file for that",
                tip="leave out --kernel or --language, or name others",
            )
        print_calibration(assignment, figures, gpu, console)
        if keep:
            path = write_calibration(assignment, figures, gpu, others[assignment.name])
            console.print(f"kept in {path}", markup=False, highlight=False, soft_wrap=True)
