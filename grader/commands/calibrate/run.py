"""`grade calibrate`: measure, print the figures and proposed tiers, store the figures.

Staff decide on the spec's tiers: the proposal is printed as lines to paste, with a
warning if a measured speedup is too close to a tier.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from grader.assignment.calibration import SourceFigure
from grader.assignment.model import Assignment
from grader.commands.calibrate.measure import (
    calibrate,
    calibration,
    kept_figures,
    write_calibration,
)
from grader.errors import UsageError
from grader.formats.page import Page
from grader.formats.timing_lines import rate_and_share
from grader.gpu.nvml import Gpu
from grader.grading.plan import Options
from grader.grading.progress import progress_on
from grader.grading.selection import check_kernels
from grader.text.numbers import three_digits
from grader.timing.decision import Tier


def print_calibration(
    assignment: Assignment, figures: Sequence[SourceFigure], gpu: Gpu, console: Console
) -> None:
    """Print the table, warnings about the spec's tiers, and tiers to paste."""
    plain = partial(console.print, markup=False, highlight=False)
    plain(f"{assignment.title} on {gpu.name}")
    print_figures(figures, console)
    measured = calibration(assignment, figures, gpu)
    files = [(kernel, language) for kernel in assignment.kernels for language in kernel.files]
    for kernel, language in files:
        for sentence in measured.sensitivities(kernel, language):
            plain(f"sensitive: {kernel.name} in {language.phrase}: {sentence}")
    for kernel, language in files:
        proposal = measured.proposal(kernel.name, language)
        if proposal is None:
            continue
        tiers = ", ".join(map(_as_toml, proposal.tiers))
        plain(f"proposed for {kernel.name}: tiers.{language} = [{tiers}]", soft_wrap=True)
        for sentence in proposal.sensitive:
            plain(f"  sensitive: {sentence}")


def _as_toml(tier: Tier) -> str:
    roof = "" if tier.roof is None else f"roof = {tier.roof:g}, "
    return f"{{ speedup = {tier.speedup:g}, {roof}share = {tier.share:g} }}"


def print_figures(figures: Sequence[SourceFigure], console: Console) -> None:
    """Print a table with a row for each benchmark of each timed file, then the files' problems."""
    header = ("kernel", "language", "sample", "benchmark", "torch", "time", "times torch")
    rows = [
        (
            figure.kernel,
            figure.language.phrase,
            figure.hand_in,
            timing.name,
            f"{timing.baseline_us:.1f} us",
            f"{timing.submission_us:.1f} us",
            three_digits(timing.speedup),
            *rate_and_share(timing),
        )
        for figure in figures
        for timing in figure.benchmarks
    ]
    page = Page(console)
    if rows:
        page.table((*header, "rate", "of roofline"), rows, indent=0, left=4)
    for figure in figures:
        if not figure.benchmarks:
            name = f"{figure.kernel} · {figure.language.phrase} · {figure.hand_in}"
            page.sentence((f"{name}: ", "bold"), figure.problem or "not timed")
    page.print()


def run_calibrate(
    assignments: Sequence[Assignment], references: Path, gpu: Gpu, options: Options, *, keep: bool
) -> None:
    """Calibrate each assignment, print the figures, and with `keep` store them.

    An interrupted calibration prints its figures so far and stores none.
    """
    console = Console()
    check_kernels(options.kernels, list(assignments))
    # Read all files first: a damaged one must not waste a long measurement.
    others = [kept_figures(assignment, gpu, options) for assignment in assignments]
    for assignment, kept in zip(assignments, others, strict=True):
        figures: list[SourceFigure] = []
        try:
            with progress_on(Console(stderr=True)) as progress:
                for figure in calibrate(assignment, references, options, progress):
                    figures.append(figure)
        except BaseException:
            if figures:
                print_figures(figures, console)
            raise
        if not figures:
            raise UsageError(
                f"{assignment.name} has no solved file for these options",
                tip="leave out --kernel or --language, or name others",
            )
        print_calibration(assignment, figures, gpu, console)
        if keep:
            path = write_calibration(assignment, [*kept, *figures], gpu)
            console.print(f"stored in {path}", markup=False, highlight=False, soft_wrap=True)
