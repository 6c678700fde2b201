"""Bounds on what is counted of a kernel: their data and their validation.

A bound of a figure is a ratio: cost of the kernel's accesses ÷ least possible cost. 1 is
perfect for any access width, so kernels with float4 (16 sectors per request) and with
float (4 sectors) have the same bound. A bound of a count is a number of launches, barriers and so
on: at most, at least, or both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from grader.assignment.cases import Range
from grader.assignment.dialects import dialect
from grader.assignment.problem import Problem, named
from grader.assignment.signature import Signature
from grader.assignment.toml_locations import KeyPath
from grader.assignment.validate_cases import dtype_problems, size_problems
from grader.vocabulary import Language

FigureName = Literal["load_sectors", "store_sectors", "shared_wavefronts", "traffic"]
FigureUnit = Literal["sectors", "wavefronts", "bytes"]
FIGURES: tuple[FigureName, ...] = get_args(FigureName)
CountName = Literal[
    "launches", "shared_bytes", "registers", "barriers", "atomics", "global_atomics",
    "global_loads",
]  # fmt: skip
COUNTS: tuple[CountName, ...] = get_args(CountName)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountBound:
    """The least and the most that a count may be; None for no bound at this end."""

    least: int | None = None
    most: int | None = None

    @classmethod
    def of(cls, value: int | Mapping[str, int]) -> CountBound:
        """Return the bound that a spec gives: the most, or { min, max }."""
        if isinstance(value, int):
            return cls(most=value)
        return cls(least=value.get("min"), most=value.get("max"))


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterBounds:
    """The table `counters` of a kernel: the case to count, and the largest ratio of each figure.

    load_sectors       sectors of loads from global memory ÷ the minimum for their bytes
    store_sectors      the same for stores
    shared_wavefronts  wavefronts of shared memory ÷ those without bank conflicts
    traffic            bytes of all sectors ÷ bytes of the arrays, each moved once

    `counts` bounds numbers of one call: `launches`; requests of warps, `global_loads`,
    `global_atomics` and `atomics`, those of shared memory included; and the most of any kernel,
    `shared_bytes` and `barriers` of a block, `registers` of a thread.

    `special` and `special_counts` are bounds of one language, which replace the general ones.
    `dtype` is the type of the case, "" for the first of the signature's list.
    """

    sizes: Mapping[str, int | float | Range]
    dtype: str = ""
    most: Mapping[FigureName, float]
    special: Mapping[Language, Mapping[FigureName, float]] = field(default_factory=dict)
    counts: Mapping[CountName, CountBound] = field(default_factory=dict)
    special_counts: Mapping[Language, Mapping[CountName, CountBound]] = field(default_factory=dict)

    def of(self, language: Language) -> Mapping[FigureName, float]:
        """Return the bounds of a language, of the figures that are measured in it."""
        bounds = {**self.most, **_own(self.special, language)}
        return {name: bounds[name] for name in FIGURES if name in bounds and _is_in(name, language)}

    def counts_of(self, language: Language) -> Mapping[CountName, CountBound]:
        """Return the bounds of the counts of a language."""
        bounds = {**self.counts, **_own(self.special_counts, language)}
        return {name: bounds[name] for name in COUNTS if name in bounds and _is_in(name, language)}


def _own(special: Mapping[Language, Mapping[Any, Any]], language: Language) -> Mapping[Any, Any]:
    """Return the bounds of a language alone, which replace those of its base."""
    return {**special.get(language.base, {}), **special.get(language, {})}


def _is_in(name: FigureName | CountName, language: Language) -> bool:
    return name not in dialect(language).uncounted


def counter_problems(data: Mapping[str, Any], signature: Signature) -> Iterator[Problem]:
    """Yield the problems of the bounds."""
    for index, kernel in enumerate(data["kernels"]):
        at: KeyPath = ("kernels", index)
        bounds = kernel.get("counters", {})
        own = {
            language: bounds[language.value] for language in Language if language.value in bounds
        }
        for language in own:
            if not any(language in Language(word).tables for word in kernel["files"]):
                yield Problem(
                    (*at, "counters", language.value),
                    f"is for {language.phrase}, but the kernel has no such file: remove it",
                )
            for name in sorted(dialect(language).uncounted & set(bounds[language.value])):
                message = f"is not counted in {language.phrase}: remove it"
                yield Problem((*at, "counters", language.value, name), message)
        used = [Language(word) for word in kernel["files"]]
        for name in (*FIGURES, *COUNTS):
            if name in bounds and not any(_is_in(name, language) for language in used):
                yield Problem(
                    (*at, "counters", name),
                    "is counted in CUDA C++ only, but the kernel has no .cu file: remove it",
                )
        for path, table in (
            ((*at, "counters"), bounds),
            *(((*at, "counters", one.value), special) for one, special in own.items()),
        ):
            yield from _count_problems(table, path)
        given = {*bounds, *(name for special in own.values() for name in special)}
        if "counters" in kernel["points"] and not given & {*FIGURES, *COUNTS}:
            yield Problem(
                (*at, "points", "counters"),
                "gives points, but the kernel has no bounds: "
                f"add `counters = {{ sizes = …, … }}` with one of {named((*FIGURES, *COUNTS))}",
            )
        if bounds:
            yield from size_problems(bounds["sizes"], signature, (*at, "counters", "sizes"))
            yield from dtype_problems(bounds, signature, (*at, "counters"))


def _count_problems(table: Mapping[str, Any], at: KeyPath) -> Iterator[Problem]:
    for name in COUNTS:
        bound = table.get(name)
        if isinstance(bound, Mapping) and bound.get("min", 0) > bound.get("max", math.inf):
            yield Problem(
                (*at, name), f"has min = {bound['min']} above max = {bound['max']}: swap them"
            )
