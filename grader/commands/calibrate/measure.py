"""Calibration: time references, samples at the roof and slow ones on this GPU, propose tiers.

What is measured is kept beside the spec, a file for each GPU's name, which
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
    AT_THE_ROOF,
    FOLDER,
    FORMAT,
    REFERENCE,
    TOO_SLOW,
    must_be_too_slow,
    read_calibration,
)
from grader.assignment.model import Assignment, Kernel
from grader.build.artifact import Rejected
from grader.checks.check import KernelFile
from grader.checks.performance.check import PerformanceCheck
from grader.errors import GraderError, UsageError
from grader.gpu.nvml import Gpu
from grader.grading.context import FileContext, open_context
from grader.grading.environment import describe
from grader.grading.file_state import FileState
from grader.grading.plan import Options, Plan
from grader.grading.progress import Progress
from grader.report.evidence import PerformanceEvidence
from grader.report.model import write_whole
from grader.submission.reader import read_submission
from grader.timing.proposal import Proposal, propose, sensitivities
from grader.vocabulary import Language


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One hand-in of staff's, timed: `problem` instead of a speedup if it could not be."""

    kernel: str
    language: Language
    hand_in: str
    speedup: float | None = None
    evidence: PerformanceEvidence | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Which kernels and language to time; empty and None are all of them."""

    kernels: tuple[str, ...] = ()
    language: Language | None = None

    def __bool__(self) -> bool:
        return bool(self.kernels or self.language)

    def holds(self, kernel: str, language: Language) -> bool:
        """Say whether this kernel in this language is to be timed."""
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
    """Time the solved files, then those at the roof and those too slow; yield each when done.

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
    """Return the folders of hand-ins to time by their names, the solved files first."""
    samples = solved / "samples"
    folders = {REFERENCE: solved}
    if (samples / AT_THE_ROOF).is_dir():
        folders[AT_THE_ROOF] = samples / AT_THE_ROOF
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
            file = FileContext(context, FileState(file=unit))
            built = file.wait_for_build()
            if isinstance(built, Rejected):
                yield _untimed(unit, name, built.message)
                continue
            with progress.step(f"{name} · {unit.title}") as file.step:
                (timed,) = PerformanceCheck().run(file)
            if timed.evidence is None or timed.evidence.speedup is None:
                yield _untimed(unit, name, timed.diagnosis.message)
                continue
            yield Figure(
                kernel=unit.kernel.name,
                language=unit.language,
                hand_in=name,
                speedup=timed.evidence.speedup,
                evidence=timed.evidence,
            )


def _untimed(unit: KernelFile, name: str, problem: str) -> Figure:
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
        and must_be_too_slow(figure.hand_in)
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


def kept_figures(assignment: Assignment, gpu: Gpu, part: Part) -> list[dict[str, Any]]:
    """Return the figures kept for this GPU that timing `part` leaves as they are.

    Raises UsageError if they were measured with other versions: one table is about
    one machine.
    """
    path = _path(assignment, gpu)
    if not part or not path.exists():
        return []
    read_calibration(path)  # says what is wrong with it
    document = json.loads(path.read_text(encoding="utf-8"))
    now = _environment(assignment, gpu)
    if document["environment"] != now:
        other = [
            f"{key} {document['environment'].get(key)}, here {value}"
            for key, value in now.items()
            if document["environment"].get(key) != value
        ]
        raise UsageError(
            f"{path} was measured with {'; '.join(other)}",
            tip=f"measure all of it again: grade calibrate {assignment.name}",
        )
    known = _order(assignment)
    return [
        figure
        for figure in document["figures"]
        if (figure["kernel"], at := Language(figure["language"])) in known
        and not part.holds(figure["kernel"], at)
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
    """Keep the figures beside the spec, in a file named for the GPU; return its path.

    `others` are of an earlier calibration, from `kept_figures`.
    """
    path = _path(assignment, gpu)
    order = _order(assignment)
    plain = [*others, *map(_plain, figures)]
    plain.sort(key=lambda one: (one["hand_in"] != REFERENCE, one["hand_in"], order.index(
        (one["kernel"], Language(one["language"])))))  # fmt: skip
    document = {
        "format": FORMAT,
        "assignment": assignment.name,
        "environment": _environment(assignment, gpu),
        "figures": plain,
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
