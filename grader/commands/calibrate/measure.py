"""Calibration: time references, samples at the roofline and slow ones.

The figures are stored beside the spec, in one file per GPU model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from grader.assignment.calibration import (
    AT_THE_ROOFLINE,
    FOLDER,
    REFERENCE,
    TOO_SLOW,
    BenchmarkFigure,
    Calibration,
    SourceFigure,
    read_calibration,
)
from grader.assignment.model import Assignment
from grader.build.artifact import Rejected
from grader.checks.performance.check import PerformanceCheck
from grader.commands.output import write_text
from grader.errors import UsageError
from grader.gpu.nvml import Gpu
from grader.grading.context import FileContext, open_context
from grader.grading.environment import describe
from grader.grading.file_state import FileState
from grader.grading.plan import Options, make_plan
from grader.grading.progress import Progress
from grader.submission.reader import read_submission
from grader.vocabulary import CheckName, Language


def calibrate(
    assignment: Assignment, references: Path, options: Options, progress: Progress
) -> Iterator[SourceFigure]:
    """Time the references, the samples at the roofline and the slow ones; yield each when done.

    Raises UsageError if there is nothing to time.
    """
    if not assignment.benchmarks:
        raise UsageError(
            f"{assignment.name} has no benchmarks", tip="add [[benchmarks]] to its spec"
        )
    solved = references / assignment.name
    if not solved.is_dir():
        raise UsageError(f"there is no {solved}", tip="calibration needs the solved files")
    for name, folder in timed_folders(solved).items():
        yield from _figures(assignment, name, folder, options, progress)


def timed_folders(solved: Path) -> dict[str, Path]:
    """Return the folders to time, by name; the references come first."""
    samples = solved / "samples"
    folders = {REFERENCE: solved}
    if (samples / AT_THE_ROOFLINE).is_dir():
        folders[AT_THE_ROOFLINE] = samples / AT_THE_ROOFLINE
    for folder in sorted((samples / TOO_SLOW).glob("*/")):
        folders[f"{TOO_SLOW}/{folder.name}"] = folder
    return folders


def _figures(
    assignment: Assignment, name: str, folder: Path, options: Options, progress: Progress
) -> Iterator[SourceFigure]:
    options = replace(options, checks=frozenset({CheckName.PERFORMANCE}))
    plan = make_plan(assignment, read_submission(folder, assignment), options)
    if not plan.files:
        return
    with open_context(assignment, options, plan) as context:
        for unit in plan.files:
            figure = SourceFigure(kernel=unit.kernel.name, language=unit.language, hand_in=name)
            file = FileContext(context, FileState(file=unit))
            built = file.wait_for_build()
            if isinstance(built, Rejected):
                yield replace(figure, problem=built.message)
                continue
            with progress.step(f"{name} · {unit.title}") as file.step:
                (timed,) = PerformanceCheck().run(file)
            if timed.evidence is None or timed.evidence.speedup is None:
                yield replace(figure, problem=timed.diagnosis.message)
                continue
            yield replace(
                figure,
                speedup=timed.evidence.speedup,
                roof=timed.evidence.roof,
                benchmarks=tuple(BenchmarkFigure.of(asdict(t)) for t in timed.evidence.benchmarks),
            )


def kept_figures(assignment: Assignment, gpu: Gpu, options: Options) -> list[SourceFigure]:
    """Return the stored figures of this GPU that the options leave out.

    Raises UsageError if they were measured with other versions: all figures of a file
    come from the same environment.
    """
    path = _path(assignment, gpu)
    if not (options.kernels or options.languages) or not path.exists():
        return []
    stored = read_calibration(path)
    now = _environment(assignment, gpu)
    if stored.environment != now:
        differences = [
            f"{key} {stored.environment.get(key)}, here {value}"
            for key, value in now.items()
            if stored.environment.get(key) != value
        ]
        raise UsageError(
            f"{path} was measured with {'; '.join(differences)}",
            tip=f"measure everything again: grade calibrate {assignment.name}",
        )
    known = _order(assignment)
    return [
        figure
        for figure in stored.figures
        if (figure.kernel, figure.language) in known
        and not options.wants(figure.kernel, figure.language)
    ]


def _order(assignment: Assignment) -> list[tuple[str, Language]]:
    return [(kernel.name, language) for kernel in assignment.kernels for language in kernel.files]


def _path(assignment: Assignment, gpu: Gpu) -> Path:
    name = re.sub(r"[^a-z0-9]+", "-", gpu.name.lower()).strip("-")
    return assignment.folder / FOLDER / f"{name}.json"


def _environment(assignment: Assignment, gpu: Gpu) -> dict[str, Any]:
    environment = describe(assignment, gpu, public_seed=0, secret_seed=0)
    kept = ("gpu", "compute_capability", "driver", "cuda", "torch", "triton")
    return {key: environment[key] for key in kept}


def calibration(assignment: Assignment, figures: Sequence[SourceFigure], gpu: Gpu) -> Calibration:
    """Return the figures with this machine's environment: first the references, in order."""
    order = _order(assignment)

    def place(figure: SourceFigure) -> tuple[bool, str, int]:
        key = figure.kernel, figure.language
        return figure.hand_in != REFERENCE, figure.hand_in, order.index(key)

    return Calibration(
        assignment=assignment.name,
        environment=_environment(assignment, gpu),
        figures=tuple(sorted(figures, key=place)),
    )


def write_calibration(assignment: Assignment, figures: Sequence[SourceFigure], gpu: Gpu) -> Path:
    """Write the figures beside the spec, in a file named for the GPU; return its path."""
    path = _path(assignment, gpu)
    write_text(path, calibration(assignment, figures, gpu).to_json(), parents=True)
    return path
