"""What a schema cannot say about bounds on counters: they need a case, a language and points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from grader.assignment.counter_bounds import FIGURES
from grader.assignment.problem import Problem, named
from grader.assignment.toml_locations import KeyPath
from grader.assignment.validate_cases import size_problems


def counter_problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield what is wrong with the bounds of a spec whose signature is sound."""
    for index, kernel in enumerate(data["kernels"]):
        at: KeyPath = ("kernels", index)
        bounds = kernel.get("counters", {})
        if bounds and "cuda" not in kernel["files"]:
            yield Problem(
                (*at, "counters"),
                "is for CUDA C++, but the kernel has no .cu file: take it away",
            )
        if "counters" in kernel["points"] and not any(name in bounds for name in FIGURES):
            yield Problem(
                (*at, "points", "counters"),
                "gives points, but the kernel has no bounds to keep: "
                f"add `counters = {{ sizes = …, … }}` with one of {named(FIGURES)}",
            )
        if bounds:
            yield from size_problems(bounds["sizes"], data["signature"], (*at, "counters", "sizes"))
