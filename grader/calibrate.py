"""`grade calibrate`: time the references and the slow samples on this GPU, propose tiers.

What is measured is kept beside the spec, a file for each GPU's name. The
spec's own tiers are staff's to change: the proposal is printed as lines to
paste, with a warning where a figure comes too near one.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from grader.build.product import Rejected
from grader.calibration import FOLDER, FORMAT, REFERENCE
from grader.environment import describe
from grader.errors import GraderError, UsageError
from grader.evidence import PerformanceEvidence
from grader.gpu import Gpu
from grader.plan import Options, Unit
from grader.progress import Progress, progress_on
from grader.report import write_whole
from grader.spec import Assignment, Kernel
from grader.submission import read_submission
from grader.timing.proposal import Proposal, propose, sensitivities
from grader.words import Language
from grader.workshop import open_workshop

_SLOW = "too_slow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One hand-in of staff's, timed: `problem` instead of a speedup if it could not be."""

    kernel: str
    language: Language
    hand_in: str
    speedup: float | None = None
    evidence: PerformanceEvidence | None = None
    problem: str | None = None


def calibrate(
    assignment: Assignment, references: Path, gpu: Gpu, progress: Progress, *, seed: int = 0
) -> Iterator[Figure]:
    """Time the solved files, then the samples that must be too slow; yield each when it is done.

    Raises UsageError if there is nothing to time.
    """
    if not assignment.benchmarks:
        raise UsageError(
            f"{assignment.name} has no benchmarks", tip="add [[benchmarks]] to its spec"
        )
    solved = references / assignment.name
    if not solved.is_dir():
        raise UsageError(f"there is no {solved}", tip="calibration needs the solved files")
    folders = {REFERENCE: solved}
    for folder in sorted((solved / "samples" / _SLOW).glob("*/")):
        folders[f"{_SLOW}/{folder.name}"] = folder
    options = Options(gpu=gpu, public_seed=seed, secret_seed=seed)
    for name, folder in folders.items():
        yield from _figures(assignment, name, folder, options, progress)


def _figures(
    assignment: Assignment, name: str, folder: Path, options: Options, progress: Progress
) -> Iterator[Figure]:
    submission = read_submission(folder, assignment)
    units = [
        Unit(kernel=kernel, language=language, hand_in=submission.files[path])
        for kernel in assignment.kernels
        for language, path in kernel.files.items()
        if path in submission
    ]
    with open_workshop(assignment, options, units) as shop:
        for unit in units:
            built = shop.built(unit)
            if isinstance(built, Rejected):
                yield _untimed(unit, name, built.message)
                continue
            with progress.step(f"{name} · {unit.title}") as step:
                timed = shop.check_performance(unit, built, step.advance)
            if timed.evidence is None or timed.evidence.speedup is None:
                yield _untimed(unit, name, timed.sentence.message)
                continue
            yield Figure(
                kernel=unit.kernel.name,
                language=unit.language,
                hand_in=name,
                speedup=timed.evidence.speedup,
                evidence=timed.evidence,
            )


def _untimed(unit: Unit, name: str, problem: str) -> Figure:
    return Figure(kernel=unit.kernel.name, language=unit.language, hand_in=name, problem=problem)


def proposals(figures: Sequence[Figure]) -> dict[tuple[str, Language], Proposal]:
    """Return tiers for every kernel and language whose reference was timed."""
    found = {}
    for figure in figures:
        if figure.hand_in == REFERENCE and figure.speedup is not None:
            key = figure.kernel, figure.language
            found[key] = propose(figure.speedup, _slow(figures, *key))
    return found


def _slow(figures: Sequence[Figure], kernel: str, language: Language) -> list[tuple[str, float]]:
    return [
        (figure.hand_in, figure.speedup)
        for figure in figures
        if (figure.kernel, figure.language) == (kernel, language)
        and figure.hand_in != REFERENCE
        and figure.speedup is not None
    ]


def warnings(assignment: Assignment, figures: Sequence[Figure], gpu: Gpu) -> list[str]:
    """Say where the spec's own tiers come too near what was measured on this GPU."""
    found = []
    for kernel in assignment.kernels:
        for language in kernel.files:
            tiers = kernel.tiers.of(language, gpu.architecture)
            reference = _reference(figures, kernel, language)
            if tiers and reference is not None:
                slow = _slow(figures, kernel.name, language)
                found += [
                    f"sensitive: {kernel.name} in {language.phrase}: {sentence}"
                    for sentence in sensitivities(tiers, reference, slow)
                ]
    return found


def _reference(figures: Sequence[Figure], kernel: Kernel, language: Language) -> float | None:
    for figure in figures:
        at = figure.kernel, figure.language, figure.hand_in
        if at == (kernel.name, language, REFERENCE):
            return figure.speedup
    return None


def write_calibration(assignment: Assignment, figures: Sequence[Figure], gpu: Gpu) -> Path:
    """Keep the figures beside the spec, in a file named for the GPU; return its path."""
    name = re.sub(r"[^a-z0-9]+", "-", gpu.name.lower()).strip("-")
    path = assignment.folder / FOLDER / f"{name}.json"
    environment = describe(assignment, gpu, public_seed=0, secret_seed=0)
    kept = ("gpu", "compute_capability", "driver", "cuda", "torch", "triton")
    document = {
        "format": FORMAT,
        "assignment": assignment.name,
        "environment": {key: environment[key] for key in kept},
        "figures": [_plain(figure) for figure in figures],
    }
    try:
        path.parent.mkdir(exist_ok=True)
        write_whole(path, json.dumps(document, indent=2) + "\n")
    except OSError as error:
        raise GraderError(f"cannot write {path}: {error.strerror or error}") from error
    return path


def _plain(figure: Figure) -> dict[str, Any]:
    plain = dataclasses.asdict(figure)
    if figure.evidence is not None:
        for timing in plain["evidence"]["benchmarks"]:
            timing.pop("speedups")  # every round's: of no use later
    return plain


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


def three_digits(figure: float) -> str:
    """Return three digits of a figure, or all that stand before its point."""
    return f"{figure:.0f}" if figure >= 100 else f"{figure:#.3g}".rstrip(".")


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
    assignments: Sequence[Assignment], references: Path, gpu: Gpu, *, seed: int, keep: bool
) -> None:
    """Calibrate each assignment, print what was found, and keep it unless told not to.

    Of one that is interrupted what was measured is printed, and nothing kept.
    """
    console = Console()
    for assignment in assignments:
        figures: list[Figure] = []
        try:
            with progress_on(Console(stderr=True)) as progress:
                for figure in calibrate(assignment, references, gpu, progress, seed=seed):
                    figures.append(figure)
        except BaseException:
            if figures:
                console.print(figures_table(figures))
            raise
        print_calibration(assignment, figures, gpu, console)
        if keep:
            path = write_calibration(assignment, figures, gpu)
            console.print(f"kept in {path}", markup=False, highlight=False, soft_wrap=True)
