"""Calibration: time references, samples at the roofline and slow ones; propose tiers.

The figures are stored beside the spec, in one file per GPU model, which
`grader.assignment.calibration` reads.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.assignment.calibration import (
    AT_THE_ROOFLINE,
    FOLDER,
    FORMAT,
    REFERENCE,
    TOO_SLOW,
    BenchmarkFigure,
    must_be_too_slow,
    read_calibration,
)
from grader.assignment.model import Assignment
from grader.build.artifact import Rejected
from grader.checks.check import KernelFile
from grader.checks.performance.check import PerformanceCheck
from grader.commands.output import write_text
from grader.errors import UsageError
from grader.gpu.nvml import Gpu
from grader.grading.context import FileContext, open_context
from grader.grading.environment import describe
from grader.grading.file_state import FileState
from grader.grading.plan import Options, Plan
from grader.grading.progress import Progress
from grader.report.evidence import PerformanceEvidence
from grader.submission.reader import read_submission
from grader.timing.proposal import Proposal, propose, sensitivities
from grader.vocabulary import Language

# The stored keys of a benchmark's timing: those that `grader.assignment.calibration` reads, and
# the interval.
_KEPT = (*(field.name for field in dataclasses.fields(BenchmarkFigure)), "low", "high")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A timed reference or sample; `problem` says why it could not be timed."""

    kernel: str
    language: Language
    hand_in: str
    speedup: float | None = None
    evidence: PerformanceEvidence | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Which kernels and language to time; empty and None mean all."""

    kernels: tuple[str, ...] = ()
    language: Language | None = None

    def __bool__(self) -> bool:
        return bool(self.kernels or self.language)

    def holds(self, kernel: str, language: Language) -> bool:
        """True if the part contains this kernel in this language."""
        return (not self.kernels or kernel in self.kernels) and self.language in (None, language)


ALL = Part()


def calibrate(
    assignment: Assignment,
    references: Path,
    gpu: Gpu,
    progress: Progress,
    *,
    seed: int = 0,
    part: Part = ALL,
) -> Iterator[Figure]:
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
    options = Options(gpu=gpu, public_seed=seed, secret_seed=seed)
    for name, folder in timed_folders(solved).items():
        yield from _figures(assignment, name, folder, options, progress, part)


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
    assignment: Assignment,
    name: str,
    folder: Path,
    options: Options,
    progress: Progress,
    part: Part,
) -> Iterator[Figure]:
    submission = read_submission(folder, assignment)
    kernels = tuple(
        (
            kernel,
            tuple(
                KernelFile(kernel=kernel, language=language, source=submission.files[path])
                for language, path in kernel.files.items()
                if path in submission and part.holds(kernel.name, language)
            ),
        )
        for kernel in assignment.kernels
    )
    plan = Plan(kernels=kernels)
    if not plan.files:
        return
    with open_context(assignment, options, plan) as context:
        for unit in plan.files:
            figure = Figure(kernel=unit.kernel.name, language=unit.language, hand_in=name)
            file = FileContext(context, FileState(file=unit))
            built = file.wait_for_build()
            if isinstance(built, Rejected):
                yield dataclasses.replace(figure, problem=built.message)
                continue
            with progress.step(f"{name} · {unit.title}") as file.step:
                (timed,) = PerformanceCheck().run(file)
            if timed.evidence is None or timed.evidence.speedup is None:
                yield dataclasses.replace(figure, problem=timed.diagnosis.message)
                continue
            yield dataclasses.replace(
                figure, speedup=timed.evidence.speedup, evidence=timed.evidence
            )


def proposals(figures: Sequence[Figure]) -> dict[tuple[str, Language], Proposal]:
    """Return the proposed tiers for each kernel and language whose reference was timed."""
    return {
        key: propose(reference, slow)
        for key, (reference, slow) in _speedups(figures).items()
        if reference is not None
    }


def _speedups(
    figures: Sequence[Figure],
) -> dict[tuple[str, Language], tuple[float | None, list[tuple[str, float]]]]:
    """Return, for each kernel and language, the speedups of the reference and of slow samples."""
    by_sample: dict[tuple[str, Language], dict[str, float]] = {}
    for figure in figures:
        if figure.speedup is not None:
            samples = by_sample.setdefault((figure.kernel, figure.language), {})
            samples[figure.hand_in] = figure.speedup
    return {
        key: (
            samples.get(REFERENCE),
            [(name, speedup) for name, speedup in samples.items() if must_be_too_slow(name)],
        )
        for key, samples in by_sample.items()
    }


def warnings(assignment: Assignment, figures: Sequence[Figure], gpu: Gpu) -> list[str]:
    """Return a sentence for each tier of the spec that is too close to a measured speedup."""
    speedups = _speedups(figures)
    found = []
    for kernel in assignment.kernels:
        for language in kernel.files:
            tiers = kernel.tiers.of(language, gpu.architecture)
            reference, slow = speedups.get((kernel.name, language), (None, []))
            if tiers and reference is not None:
                found += [
                    f"sensitive: {kernel.name} in {language.phrase}: {sentence}"
                    for sentence in sensitivities(tiers, reference, slow)
                ]
    return found


def kept_figures(assignment: Assignment, gpu: Gpu, part: Part) -> list[dict[str, Any]]:
    """Return the stored figures of this GPU that are not in `part`, as JSON values.

    Raises UsageError if they were measured with other versions: all figures of a file
    come from the same environment.
    """
    path = _path(assignment, gpu)
    if not part or not path.exists():
        return []
    read_calibration(path)  # raises an error for a damaged file
    document = json.loads(path.read_text(encoding="utf-8"))
    now = _environment(assignment, gpu)
    if document["environment"] != now:
        differences = [
            f"{key} {document['environment'].get(key)}, here {value}"
            for key, value in now.items()
            if document["environment"].get(key) != value
        ]
        raise UsageError(
            f"{path} was measured with {'; '.join(differences)}",
            tip=f"measure everything again: grade calibrate {assignment.name}",
        )
    known = _order(assignment)
    return [
        figure
        for figure in document["figures"]
        if (key := (figure["kernel"], Language(figure["language"]))) in known
        and not part.holds(*key)
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


def write_calibration(
    assignment: Assignment,
    figures: Sequence[Figure],
    gpu: Gpu,
    others: Sequence[Mapping[str, Any]] = (),
) -> Path:
    """Write the figures beside the spec, in a file named for the GPU; return its path.

    `others` come from an earlier calibration, through `kept_figures`.
    """
    path = _path(assignment, gpu)
    order = _order(assignment)

    def place(figure: Mapping[str, Any]) -> tuple[bool, str, int]:
        key = figure["kernel"], Language(figure["language"])
        return figure["hand_in"] != REFERENCE, figure["hand_in"], order.index(key)

    document = {
        "format": FORMAT,
        "assignment": assignment.name,
        "environment": _environment(assignment, gpu),
        "figures": sorted([*others, *map(_plain, figures)], key=place),
    }
    write_text(path, json.dumps(document, indent=2) + "\n", parents=True)
    return path


def _plain(figure: Figure) -> dict[str, Any]:
    plain = dataclasses.asdict(figure)
    if figure.evidence is not None:
        timings = plain["evidence"]["benchmarks"]
        plain["evidence"] = {"benchmarks": [{key: one[key] for key in _KEPT} for one in timings]}
    return plain
