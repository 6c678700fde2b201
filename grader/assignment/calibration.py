"""The measurements that `grade calibrate` stores beside a spec, one file per GPU.

assignments/NAME/calibration/GPU.json
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any

from grader.assignment.model import Kernel
from grader.errors import GraderError
from grader.timing.decision import Criterion, Tier
from grader.timing.proposal import Figures, Proposal, propose, sensitivities
from grader.vocabulary import Language

FOLDER = "calibration"
REFERENCE = "reference"
# Folders below samples/: kernels close to the hardware's limit, beyond their rung's idea; and
# kernels that must be too slow.
AT_THE_ROOFLINE = "accepted/at-the-roof"
TOO_SLOW = "too_slow"
FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkFigure:
    """One benchmark of one source file; units as in the report's evidence."""

    name: str
    baseline_us: float
    submission_us: float
    speedup: float
    gb_s: float
    tflop_s: float | None
    low: float
    high: float
    roof_share: float | None = None
    peak_share: float | None = None

    @classmethod
    def of(cls, timing: Mapping[str, Any]) -> BenchmarkFigure:
        """Return the figures kept of a timing in the report's evidence; KeyError if one lacks.

        Calibrations of earlier versions lack the figures that have a default.
        """
        wanted = {field.name: field.default is MISSING for field in fields(cls)}
        return cls(**{n: timing[n] for n, needed in wanted.items() if needed or n in timing})


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFigure:
    """One reference or sample; `problem` says why it could not be timed.

    `roof` is the share of the roofline, None if it is unknown.
    """

    kernel: str
    language: Language
    hand_in: str
    speedup: float | None = None
    roof: float | None = None
    benchmarks: tuple[BenchmarkFigure, ...] = ()
    problem: str | None = None

    @property
    def figures(self) -> Figures:
        """The measured figures by criterion; {} if the file could not be timed."""
        both = {Criterion.TORCH: self.speedup, Criterion.ROOF: self.roof}
        return {criterion: figure for criterion, figure in both.items() if figure is not None}

    def plain(self) -> dict[str, Any]:
        """Return the figure as JSON values."""
        timed = {"benchmarks": list(map(asdict, self.benchmarks))} if self.benchmarks else None
        return {
            "kernel": self.kernel,
            "language": self.language.value,
            "hand_in": self.hand_in,
            "speedup": self.speedup,
            "roof": self.roof,
            "evidence": timed,
            "problem": self.problem,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """All figures of one assignment on one GPU, and the versions that they depend on."""

    assignment: str
    environment: Mapping[str, Any]
    figures: tuple[SourceFigure, ...]

    @property
    def gpu(self) -> str:
        """The GPU's name."""
        return str(self.environment["gpu"])

    @property
    def architecture(self) -> str:
        """The GPU's architecture, for example "sm_90"."""
        return f"sm_{str(self.environment['compute_capability']).replace('.', '')}"

    def of(self, kernel: str, language: Language) -> tuple[SourceFigure, ...]:
        """Return the figures of one kernel in one language."""
        return tuple(f for f in self.figures if (f.kernel, f.language) == (kernel, language))

    def timed(self, kernel: str, language: Language) -> dict[str, Figures]:
        """Return the figures of one kernel in one language, by reference or sample."""
        return {one.hand_in: one.figures for one in self.of(kernel, language) if one.figures}

    def tiers(self, kernel: Kernel, language: Language) -> tuple[Tier, ...]:
        """Return the tiers of the spec on this GPU."""
        return kernel.tiers.of(language, self.gpu, self.architecture)

    def proposal(self, kernel: str, language: Language) -> Proposal | None:
        """Return tiers for a kernel in a language; None if its reference was not timed."""
        timed = self.timed(kernel, language)
        return propose(timed[REFERENCE], _slow(timed)) if REFERENCE in timed else None

    def sensitivities(self, kernel: Kernel, language: Language) -> list[str]:
        """Return a sentence for each tier of the spec that is too close to a figure."""
        timed, tiers = self.timed(kernel.name, language), self.tiers(kernel, language)
        if not tiers or REFERENCE not in timed:
            return []
        return sensitivities(tiers, timed[REFERENCE], _slow(timed))

    def to_json(self) -> str:
        """Return the text of the file."""
        document = {
            "format": FORMAT,
            "assignment": self.assignment,
            "environment": self.environment,
            "figures": [figure.plain() for figure in self.figures],
        }
        return json.dumps(document, indent=2) + "\n"


def calibrations(assignment: Path) -> list[Calibration]:
    """Read all calibrations of the assignment in this folder, sorted by GPU.

    Raises GraderError if a file is no calibration.
    """
    return [read_calibration(path) for path in sorted((assignment / FOLDER).glob("*.json"))]


def read_calibration(path: Path) -> Calibration:
    """Read one file. Raises GraderError, which names it."""
    tip = "remove it, and run `grade calibrate` on that GPU again"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise GraderError(f"{path} cannot be read: {error}", tip=tip) from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise GraderError(f"{path} is no calibration of format {FORMAT}", tip=tip)
    try:
        environment = document["environment"]
        _ = environment["gpu"], environment["compute_capability"]
        return Calibration(
            assignment=document["assignment"],
            environment=environment,
            figures=tuple(map(_figure, document["figures"])),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise GraderError(f"{path} is no file of `grade calibrate`: {error!r}", tip=tip) from error


def _figure(plain: Mapping[str, Any]) -> SourceFigure:
    timings = plain["evidence"]["benchmarks"] if plain["evidence"] else ()
    return SourceFigure(
        kernel=plain["kernel"],
        language=Language(plain["language"]),
        hand_in=plain["hand_in"],
        speedup=plain["speedup"],
        roof=plain.get("roof"),
        benchmarks=tuple(map(BenchmarkFigure.of, timings)),
        problem=plain.get("problem"),
    )


def _slow(timed: Mapping[str, Figures]) -> list[tuple[str, Figures]]:
    """Return the samples that no tier may accept."""
    return [(name, figures) for name, figures in timed.items() if name.startswith(f"{TOO_SLOW}/")]
