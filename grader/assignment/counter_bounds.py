"""Bounds on a kernel's access counters: their data and their validation.

Every bound is a ratio: cost of the kernel's accesses ÷ least possible cost. 1 is
perfect for any access width, so kernels with float4 (16 sectors per request) and with
float (4 sectors) have the same bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from grader.assignment.cases import Range
from grader.assignment.problem import Problem, named
from grader.assignment.signature import Signature
from grader.assignment.toml_locations import KeyPath
from grader.assignment.validate_cases import size_problems
from grader.vocabulary import Language

FigureName = Literal["load_sectors", "store_sectors", "shared_wavefronts", "traffic"]
FigureUnit = Literal["sectors", "wavefronts", "bytes"]
FIGURES: tuple[FigureName, ...] = get_args(FigureName)


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterBounds:
    """The table `counters` of a kernel: the case to count, and the largest ratio of each figure.

    load_sectors       sectors of loads from global memory ÷ the minimum for their bytes
    store_sectors      the same for stores
    shared_wavefronts  wavefronts of shared memory ÷ those without bank conflicts
    traffic            bytes of all sectors ÷ bytes of the arrays, each moved once

    `special` are bounds of one language, which replace the general ones.
    """

    sizes: Mapping[str, int | float | Range]
    most: Mapping[FigureName, float]
    special: Mapping[Language, Mapping[FigureName, float]] = field(default_factory=dict)

    def of(self, language: Language) -> Mapping[FigureName, float]:
        """Return the bounds of a language, of the figures that are measured in it."""
        bounds = {**self.most, **self.special.get(language, {})}
        return {name: bounds[name] for name in FIGURES if name in bounds and _is_in(name, language)}


def _is_in(name: FigureName, language: Language) -> bool:
    """In Triton the compiler lays shared memory out, and nothing of it is counted."""
    return language is Language.CUDA or name != "shared_wavefronts"


def counter_problems(data: Mapping[str, Any], signature: Signature) -> Iterator[Problem]:
    """Yield the problems of the bounds."""
    for index, kernel in enumerate(data["kernels"]):
        at: KeyPath = ("kernels", index)
        bounds = kernel.get("counters", {})
        own = {
            language: bounds[language.value] for language in Language if language.value in bounds
        }
        for language in own:
            if language.value not in kernel["files"]:
                yield Problem(
                    (*at, "counters", language.value),
                    f"is for {language.phrase}, but the kernel has no such file: remove it",
                )
        if "shared_wavefronts" in bounds and "cuda" not in kernel["files"]:
            yield Problem(
                (*at, "counters", "shared_wavefronts"),
                "is counted in CUDA C++ only, but the kernel has no .cu file: remove it",
            )
        given = {*bounds, *(name for special in own.values() for name in special)}
        if "counters" in kernel["points"] and not given & set(FIGURES):
            yield Problem(
                (*at, "points", "counters"),
                "gives points, but the kernel has no bounds: "
                f"add `counters = {{ sizes = …, … }}` with one of {named(FIGURES)}",
            )
        if bounds:
            yield from size_problems(bounds["sizes"], signature, (*at, "counters", "sizes"))
