"""Bounds on a kernel's access counters: their data and their validation.

Every bound is a ratio: cost of the kernel's accesses ÷ least possible cost. 1 is
perfect for any access width, so kernels with float4 (16 sectors per request) and with
float (4 sectors) have the same bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from grader.assignment.problem import Problem, named
from grader.assignment.toml_locations import KeyPath
from grader.assignment.validate_cases import size_problems

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
    """

    sizes: Mapping[str, int | float]
    most: Mapping[FigureName, float]


def counter_problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the problems of the bounds in a spec with a valid signature."""
    for index, kernel in enumerate(data["kernels"]):
        at: KeyPath = ("kernels", index)
        bounds = kernel.get("counters", {})
        if bounds and "cuda" not in kernel["files"]:
            yield Problem(
                (*at, "counters"),
                "is for CUDA C++, but the kernel has no .cu file: remove it",
            )
        if "counters" in kernel["points"] and not any(name in bounds for name in FIGURES):
            yield Problem(
                (*at, "points", "counters"),
                "gives points, but the kernel has no bounds: "
                f"add `counters = {{ sizes = …, … }}` with one of {named(FIGURES)}",
            )
        if bounds:
            yield from size_problems(bounds["sizes"], data["signature"], (*at, "counters", "sizes"))
