"""Rules beyond the JSON Schema for `[[cases]]`: sizes that fit a valid signature.

A case must give every size that a shape or a scalar needs; its arrays must have at
least one element and fit into a GPU. Both ends of a range are checked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from grader.assignment.expression import Expression
from grader.assignment.problem import Problem, named
from grader.assignment.signature import ElementType
from grader.assignment.toml_locations import KeyPath
from grader.text.did_you_mean import did_you_mean

_LARGEST_ARRAY_GIB = 12  # the smallest supported GPU has 15 GB for all arrays together

Table = Mapping[str, Any]


def case_problems(data: Table) -> Iterator[Problem]:
    """Yield the problems of the cases of a spec."""
    signature = data["signature"]
    if any("memory" in kernel["points"] for kernel in data["kernels"]) and not any(
        case.get("memory") and case.get("visibility", "visible") == "visible"
        for case in data["cases"]
    ):
        yield Problem(
            ("cases",),
            "has no visible case with `memory = true`, but there are points for memory: "
            "set it in a small case",
        )
    used = {language for kernel in data["kernels"] for language in kernel["files"]}
    served: set[str] = set()
    for index, case in enumerate(data["cases"]):
        languages = set(case.get("languages", used))
        served |= languages
        for language in sorted(languages - used):
            yield Problem(
                ("cases", index, "languages"), f"names {language}, in which no kernel has a file"
            )
        at: KeyPath = ("cases", index, "sizes")
        yield from size_problems(
            case["sizes"], signature, at, list(_list_problems(case, ("cases", index)))
        )
    for language in sorted(used - served):
        yield Problem(("cases",), f"has none for {language}, in which a kernel has a file")


def size_problems(
    sizes: Table, signature: Table, at: KeyPath, others: Iterable[Problem] = ()
) -> Iterator[Problem]:
    """Yield the problems of the sizes at `at` and `others`; shapes only if there are none."""
    problems = [
        *_name_problems(sizes, signature, at),
        *_value_problems(sizes, signature, at),
        *others,
    ]
    yield from problems or dict.fromkeys(_shape_problems(sizes, signature, at))


def scalar_types(argument: Table, signature: Table) -> set[str]:
    """Return the element types of an argument, one for each language if it is bound."""
    bound = signature.get("types", {}).get(argument["type"])
    return set(bound.values()) if bound else {argument["type"]}


def scalar_problem(value: float, types: Iterable[str]) -> str:
    """Return why a scalar of these types cannot have `value`; "" if it can."""
    for kind in sorted(types):
        element = ElementType.named(kind)
        if element.is_float:
            continue
        if not isinstance(value, int):
            return f"is {value}, but {kind} needs an integer"
        bits = 8 * element.size - 1
        if not -(2**bits) <= value < 2**bits:
            return f"is {value}, which is out of range for {kind}"
    return ""


def _name_problems(sizes: Table, signature: Table, at: KeyPath) -> Iterator[Problem]:
    scalars = [argument for argument in signature["arguments"] if "shape" not in argument]
    extents = {name for extent in _extents(signature) for name in extent.names}
    needed = extents | {scalar["name"] for scalar in scalars if "default" not in scalar}
    allowed = extents | {scalar["name"] for scalar in scalars}
    for name in sizes:
        if name not in allowed:
            meant = did_you_mean(name, allowed) or f"; it has {named(sorted(allowed))}"
            yield Problem((*at, name), f"is no size of this signature{meant}")
    for name in sorted(needed - set(sizes)):
        shapes = [
            argument["name"]
            for argument in signature["arguments"]
            if any(name in extent.names for extent in _shape(argument))
        ]
        needs = f"the shape of {named(shapes)}" if shapes else "the argument of this name"
        yield Problem((*at, name), f"is missing: {needs} needs it")


def _value_problems(sizes: Table, signature: Table, at: KeyPath) -> Iterator[Problem]:
    scalars = {
        argument["name"]: scalar_types(argument, signature)
        for argument in signature["arguments"]
        if "shape" not in argument
    }
    exact = {name for extent in _extents(signature) for name in extent.names}
    bare = {extent.text for extent in _extents(signature)}
    for name, value in sizes.items():
        if isinstance(value, dict):
            yield from _range_problems(value, (*at, name))
        for place, number in _numbers(value, (*at, name)):
            if name in exact and not isinstance(number, int):
                yield Problem(place, f"is {number}, but an array's extent must be an integer")
            elif name in bare and number < 1:
                yield Problem(place, f"is {number}, but an array's extent must be at least 1")
            elif name in scalars:
                wrong = scalar_problem(number, scalars[name])
                if wrong:
                    yield Problem(place, wrong)


def _range_problems(bounds: Table, at: KeyPath) -> Iterator[Problem]:
    if bounds["min"] > bounds["max"]:
        yield Problem(at, f"has min = {bounds['min']} above max = {bounds['max']}")
    elif bounds["min"] == bounds["max"]:
        yield Problem(at, f"is a range of one value: write {at[-1]} = {bounds['min']}")


def _list_problems(case: Table, at: KeyPath) -> Iterator[Problem]:
    lengths = {name: len(value) for name, value in case["sizes"].items() if isinstance(value, list)}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        yield Problem(
            (*at, "sizes"),
            f"has lists of different lengths ({listed}): each case takes one value of each list",
        )
    if lengths and "count" in case:
        yield Problem((*at, "count"), "is for single values and ranges: remove it, or the lists")


def _shape_problems(sizes: Table, signature: Table, at: KeyPath) -> Iterator[Problem]:
    for values in _corners(sizes):
        given = ", ".join(f"{name} = {value}" for name, value in values.items())
        for argument in signature["arguments"]:
            if "shape" not in argument:
                continue
            try:
                shape = [Expression.parse(e).evaluate(values) for e in argument["shape"]]
            except ValueError as error:
                yield Problem(at, f"with {given}: {error}")
                continue
            kinds = scalar_types(argument, signature)
            size = math.prod(shape) * max(ElementType.named(kind).size for kind in kinds)
            if min(shape) < 1:
                yield Problem(
                    at,
                    f"with {given}: `{argument['name']}` gets the shape {tuple(shape)}, "
                    "but every extent must be at least 1",
                )
            elif size > _LARGEST_ARRAY_GIB << 30:
                yield Problem(
                    at,
                    f"with {given}: `{argument['name']}` gets {size / 2**30:.3g} GiB; "
                    f"at most {_LARGEST_ARRAY_GIB} GiB are allowed",
                )


def _corners(sizes: Table) -> Iterator[dict[str, int | float]]:
    """Yield the sizes of every case of a table, with ranges at both ends."""
    length = max((len(value) for value in sizes.values() if isinstance(value, list)), default=1)
    for position in range(length):
        for end in ("min", "max"):
            yield {
                name: value[position]
                if isinstance(value, list)
                else value[end]
                if isinstance(value, dict)
                else value
                for name, value in sizes.items()
            }


def _numbers(value: Any, at: KeyPath) -> Iterator[tuple[KeyPath, int | float]]:
    """Yield every number of a size with its key path."""
    if isinstance(value, list):
        yield from (((*at, position), number) for position, number in enumerate(value))
    elif isinstance(value, dict):
        yield from (((*at, end), value[end]) for end in ("min", "max"))
    else:
        yield at, value


def _extents(signature: Table) -> Iterator[Expression]:
    for argument in signature["arguments"]:
        yield from _shape(argument)


def _shape(argument: Table) -> Iterator[Expression]:
    yield from map(Expression.parse, argument.get("shape", ()))
