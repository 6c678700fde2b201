"""Rules beyond the JSON Schema for tiers and `[[benchmarks]]`.

Points for performance need a benchmark, and tiers in every language, at least on one GPU. A better
tier must ask for more and earn more than a worse one, and the best one everything. A share of the
roofline needs arrays in the GPU's memory and a peak that is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from grader.assignment.expression import Expression
from grader.assignment.problem import Problem
from grader.assignment.signature import Signature
from grader.assignment.toml_locations import KeyPath
from grader.assignment.validate_cases import (
    dtype_problems,
    language_problems,
    size_problems,
    used_languages,
)
from grader.gpu.models import ARCHITECTURE, MODELS, as_written
from grader.text.did_you_mean import did_you_mean
from grader.vocabulary import Language, Role

Table = Mapping[str, Any]

# A name in a benchmark's expressions besides the sizes: the bytes of an element.
ELEMENT_SIZE = "size"


def timing_problems(data: Table, signature: Signature) -> Iterator[Problem]:
    """Yield the problems of tiers and benchmarks."""
    for index, kernel in enumerate(data["kernels"]):
        yield from _kernel_problems(kernel, ("kernels", index), data, signature)
    for index, benchmark in enumerate(data.get("benchmarks", ())):
        yield from language_problems(benchmark, used_languages(data), ("benchmarks", index))
        yield from _benchmark_problems(benchmark, ("benchmarks", index), signature)
    if "benchmarks" in data and any(array.role is Role.INOUT for array in signature.arrays):
        yield Problem(
            ("benchmarks",),
            'cannot be timed: an array with role "inout" changes from call to call',
        )


def _kernel_problems(
    kernel: Table, at: KeyPath, data: Table, signature: Signature
) -> Iterator[Problem]:
    tiers = kernel.get("tiers", {})
    on = tiers.get("on", {})
    scored = "performance" in kernel["points"]
    if scored and "benchmarks" not in data:
        yield Problem((*at, "points", "performance"), "needs benchmarks: add [[benchmarks]]")
    for language in sorted(kernel["files"]):
        tables = Language(language).tables
        given = any(group.get(word) for group in (tiers, *on.values()) for word in tables)
        if scored and not given:
            yield Problem((*at, "tiers", language), "is missing: there are points for performance")
    if tiers and not scored:
        yield Problem((*at, "tiers"), "earn nothing: add `points` for performance")
    for name in on:
        if name not in MODELS and not ARCHITECTURE.fullmatch(name):
            meant = did_you_mean(as_written(name), MODELS)
            yield Problem(
                (*at, "tiers", "on", name),
                f"is no known GPU{meant or ': write a model, as H100, or its architecture, sm_90'}",
            )
    groups = {(*at, "tiers"): tiers} | {
        (*at, "tiers", "on", name): group for name, group in on.items()
    }
    for place, group in groups.items():
        for language in sorted({word.value for word in Language} & set(group)):
            if not any(language in Language(word).tables for word in kernel["files"]):
                yield Problem(
                    (*place, language), f"is for {language}, but the kernel has no such file"
                )
            yield from _tier_problems(group[language], (*place, language))
            lacking = _no_roof(Language(language), data, signature)
            for position, tier in enumerate(group[language]):
                if "roof" in tier and lacking:
                    yield Problem((*place, language, position, "roof"), lacking)


def _no_roof(language: Language, data: Table, signature: Signature) -> str:
    """Return why kernels in a language have no roofline; "" if they have one."""
    if signature.in_host_memory:
        return "needs arrays in the GPU's memory, and one is in host memory: leave it out"
    first = signature.dtypes[0].word if signature.dtypes else ""
    known = {kind.word for kind in signature.dtypes}
    counted = {
        signature.bound(dtype if dtype in known else first).arithmetic(language)
        for benchmark in data.get("benchmarks", ())
        if "flops" in benchmark and language.is_in(benchmark.get("languages", list(Language)))
        for dtype in benchmark.get("dtypes", [first])
    }
    if None in counted or len(counted) > 1:
        return (
            "needs a known peak for `flops` of the benchmarks: arrays all in float32, or all in "
            "float16 or bfloat16. Leave out one of the two"
        )
    return ""


def _tier_problems(tiers: list[Table], at: KeyPath) -> Iterator[Problem]:
    for position, (worse, better) in enumerate(pairwise(tiers), start=1):
        if better["speedup"] <= worse["speedup"]:
            yield Problem(
                (*at, position, "speedup"),
                f"is {better['speedup']}, but the tier before it has {worse['speedup']}: "
                "write the tiers from slow to fast",
            )
        if {"roof"} <= better.keys() & worse.keys() and better["roof"] <= worse["roof"]:
            yield Problem(
                (*at, position, "roof"),
                f"is {better['roof']}, but the tier before it has {worse['roof']}: "
                "write the tiers from slow to fast",
            )
        if better["share"] <= worse["share"]:
            yield Problem(
                (*at, position, "share"),
                f"is {better['share']}, no more than the slower tier before it",
            )
    if tiers and tiers[-1]["share"] != 1:
        yield Problem((*at, len(tiers) - 1, "share"), "must be 1: the fastest tier earns all")
    marked = [position for position, tier in enumerate(tiers) if tier.get("accepted")]
    for position in marked[1:]:
        yield Problem((*at, position, "accepted"), "is set in another tier already: mark only one")


def _benchmark_problems(benchmark: Table, at: KeyPath, signature: Signature) -> Iterator[Problem]:
    yield from size_problems(benchmark["sizes"], signature, (*at, "sizes"))
    yield from dtype_problems(benchmark, signature, at)
    size = signature.element_types(signature.arrays[0])[0].size
    known = {**benchmark["sizes"], ELEMENT_SIZE: size}
    for key in ("bytes", "flops"):
        if key not in benchmark:
            continue
        try:
            expression = Expression.parse(benchmark[key])
            unknown = sorted(expression.names - set(known))
            if unknown:
                meant = did_you_mean(unknown[0], known)
                yield Problem((*at, key), f"uses `{unknown[0]}`, which is no size{meant}")
            elif expression.evaluate(known) < 1:
                yield Problem((*at, key), "is less than 1: correct it, or leave it out")
        except ValueError as error:
            yield Problem((*at, key), str(error))
