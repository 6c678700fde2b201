"""Reads the measurements that `grade calibrate` stores beside a spec, one file per GPU.

assignments/NAME/calibration/GPU.json
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.errors import GraderError
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFigure:
    """One reference or sample; `speedup` is None if it could not be timed."""

    kernel: str
    language: Language
    hand_in: str
    speedup: float | None
    benchmarks: tuple[BenchmarkFigure, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """All figures of one assignment on one GPU; `architecture` is, for example, "sm_90"."""

    assignment: str
    gpu: str
    architecture: str
    figures: tuple[SourceFigure, ...]

    def of(self, kernel: str, language: Language) -> tuple[SourceFigure, ...]:
        """Return the figures of one kernel in one language."""
        return tuple(f for f in self.figures if (f.kernel, f.language) == (kernel, language))


def must_be_too_slow(hand_in: str) -> bool:
    """True if this is the name of a sample that no tier may accept."""
    return hand_in.startswith(f"{TOO_SLOW}/")


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
        capability = str(environment["compute_capability"]).replace(".", "")
        return Calibration(
            assignment=document["assignment"],
            gpu=environment["gpu"],
            architecture=f"sm_{capability}",
            figures=tuple(map(_figure, document["figures"])),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise GraderError(f"{path} is no file of `grade calibrate`: {error!r}", tip=tip) from error


def _figure(plain: Mapping[str, Any]) -> SourceFigure:
    evidence = plain["evidence"] or {"benchmarks": ()}
    return SourceFigure(
        kernel=plain["kernel"],
        language=Language(plain["language"]),
        hand_in=plain["hand_in"],
        speedup=plain["speedup"],
        benchmarks=tuple(
            BenchmarkFigure(
                name=timing["name"],
                baseline_us=timing["baseline_us"],
                submission_us=timing["submission_us"],
                speedup=timing["speedup"],
                gb_s=timing["gb_s"],
                tflop_s=timing["tflop_s"],
            )
            for timing in evidence["benchmarks"]
        ),
    )
