"""Rules beyond the JSON Schema for `[[cases]]`: sizes that fit a valid signature.

A case must give every size that a shape or a scalar needs; its arrays must have at
least one element and fit into a GPU. Every combination of the ends of ranges is checked.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from grader.assignment.cases import Range, case_sizes
from grader.assignment.dialects import dialect
from grader.assignment.launch import Launch, limit_problems
from grader.assignment.problem import Problem, choices, named
from grader.assignment.signature import ElementType, Signature
from grader.assignment.toml_locations import KeyPath
from grader.text.did_you_mean import did_you_mean
from grader.vocabulary import Language

_LARGEST_ARRAY_GIB = 12  # the smallest supported GPU has 15 GB for all arrays together
_MOST_RANGES = 8  # of a table, whose 2^8 combinations of ends are checked

Table = Mapping[str, Any]


def case_problems(data: Table, signature: Signature) -> Iterator[Problem]:
    """Yield the problems of the cases of a spec."""
    if any("memory" in kernel["points"] for kernel in data["kernels"]) and not any(
        case.get("memory") and case.get("visibility", "visible") == "visible"
        for case in data["cases"]
    ):
        yield Problem(
            ("cases",),
            "has no visible case with `memory = true`, but there are points for memory: "
            "set it in a small case",
        )
    yield from _weight_problems(data["cases"])
    used = used_languages(data)
    served: set[str] = set()
    for index, case in enumerate(data["cases"]):
        at: KeyPath = ("cases", index)
        if "show_name" in case and case.get("visibility", "visible") == "visible":
            yield Problem((*at, "show_name"), "is for hidden cases: remove it, or hide the case")
        elif "show_name" in case and "name" not in case:
            yield Problem((*at, "show_name"), "needs a `name` of the case: add it")
        said = case.get("languages", used)
        served |= {word for word in used if Language(word).is_in(said)}
        yield from language_problems(case, used, at)
        lists = list(_list_problems(case, at))
        yield from size_problems(case["sizes"], signature, (*at, "sizes"), lists)
        if not lists:  # there are no cases to launch for
            yield from _launch_problems(case, signature, at, map(Language, used))
        yield from dtype_problems(case, signature, at)
    for language in sorted(used - served):
        yield Problem(("cases",), f"has none for {language}, in which a kernel has a file")


def _launch_problems(
    case: Table, signature: Signature, at: KeyPath, languages: Iterable[Language]
) -> Iterator[Problem]:
    launch = Launch.of(case["launch"]) if "launch" in case else signature.launch
    if launch is None:
        return
    at = (*at, "launch") if "launch" in case else ("signature", "launch")
    defaults = {a.name: a.default for a in signature.scalars if a.default is not None}
    strict = next((one.phrase for one in languages if dialect(one).powers_of_two), "")
    for sizes in _corners(case["sizes"]):
        found = [*limit_problems(launch, {**defaults, **sizes}, powers_of_two_in=strict, at=at)]
        yield from found
        if found:  # the other sizes have the same problem, as a rule
            return


def dtype_problems(table: Table, signature: Signature, at: KeyPath) -> Iterator[Problem]:
    """Yield the problems of `dtypes`, or of `dtype`, which choose of the signature's types."""
    known = [kind.word for kind in signature.dtypes]
    words: dict[KeyPath, str] = {
        ("dtypes", place): word for place, word in enumerate(table.get("dtypes", ()))
    }
    words |= {("dtype",): table["dtype"]} if "dtype" in table else {}
    if words and not known:
        message = "needs a type with a list in [signature], such as"
        key = "dtype" if "dtype" in table else "dtypes"
        yield Problem((*at, key), f'{message} types = {{ T = ["float32", "float16"] }}: add it')
        return
    for place, word in words.items():
        if word not in known:
            message = f'is "{word}", which is not in the list of `{signature.variable}`'
            yield Problem((*at, *place), f"{message}{choices(word, known)}")


def _weight_problems(cases: list[Table]) -> Iterator[Problem]:
    names = [case.get("name") for case in cases]
    for index, case in enumerate(cases):
        at: KeyPath = ("cases", index)
        if "weight" in case and "name" not in case:
            yield Problem((*at, "weight"), "needs a `name` of these cases, for their line: add it")
        elif "weight" in case and names.count(case["name"]) > 1:
            yield Problem(
                (*at, "name"), f'is "{case["name"]}", as of other cases: a group needs its own'
            )


def used_languages(data: Table) -> set[str]:
    """Return the languages in which a kernel has a file."""
    return {language for kernel in data["kernels"] for language in kernel["files"]}


def language_problems(table: Table, used: set[str], at: KeyPath) -> Iterator[Problem]:
    """Yield a problem for each of a table's `languages` that no kernel uses."""
    spoken = {word for language in used for word in Language(language).tables}
    for language in sorted(set(table.get("languages", used)) - spoken):
        yield Problem((*at, "languages"), f"names {language}, in which no kernel has a file")


def size_problems(
    sizes: Table, signature: Signature, at: KeyPath, others: Iterable[Problem] = ()
) -> Iterator[Problem]:
    """Yield the problems of the sizes at `at` and `others`; shapes only if there are none."""
    problems = [
        *_name_problems(sizes, signature, at),
        *_value_problems(sizes, signature, at),
        *others,
    ]
    yield from problems or dict.fromkeys(_shape_problems(sizes, signature, at))


def scalar_problem(value: float, kinds: Iterable[ElementType]) -> str:
    """Return why a scalar of these types cannot have `value`; "" if it can."""
    for kind in kinds:
        if kind.is_float:
            continue
        if not isinstance(value, int):
            return f"is {value}, but {kind.word} needs an integer"
        least, largest = kind.range
        if not least <= value <= largest:
            return f"is {value}, which is out of range for {kind.word}"
    return ""


def _name_problems(sizes: Table, signature: Signature, at: KeyPath) -> Iterator[Problem]:
    allowed = signature.extents | {scalar.name for scalar in signature.scalars}
    defaults = {scalar.name for scalar in signature.scalars if scalar.default is not None}
    for name in sizes:
        if name not in allowed:
            meant = did_you_mean(name, allowed) or f"; it has {named(sorted(allowed))}"
            yield Problem((*at, name), f"is no size of this signature{meant}")
    for name in sorted(allowed - (defaults - signature.extents) - set(sizes)):
        shapes = [a.name for a in signature.arrays if any(name in e.names for e in a.shape or ())]
        needs = f"the shape of {named(shapes)}" if shapes else "the argument of this name"
        yield Problem((*at, name), f"is missing: {needs} needs it")


def _value_problems(sizes: Table, signature: Signature, at: KeyPath) -> Iterator[Problem]:
    scalars = {scalar.name: signature.element_types(scalar) for scalar in signature.scalars}
    bare = {extent.text for array in signature.arrays for extent in array.shape or ()}
    for name, value in sizes.items():
        if isinstance(value, dict):
            yield from _range_problems(value, (*at, name))
        for place, number in _numbers(value, (*at, name)):
            if name in signature.extents and not isinstance(number, int):
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
    elif any(isinstance(bounds[end], float) for end in ("min", "max")):
        if "step" in bounds:
            yield Problem((*at, "step"), "is for integers: remove it")
    elif beyond := (bounds["max"] - bounds["min"]) % bounds.get("step", 1):
        reached = bounds["max"] - beyond
        yield Problem(at, f"never reaches max = {bounds['max']}: write max = {reached}")


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


def _shape_problems(sizes: Table, signature: Signature, at: KeyPath) -> Iterator[Problem]:
    for values in _corners(sizes):
        given = ", ".join(f"{name} = {value}" for name, value in values.items())
        for array in signature.arrays:
            try:
                shape = signature.shape(array, values)
            except ValueError as error:
                yield Problem(at, f"with {given}: {error}")
                continue
            size = math.prod(shape) * max(kind.size for kind in signature.element_types(array))
            if min(shape) < 1:
                yield Problem(
                    at,
                    f"with {given}: `{array.name}` gets the shape {shape}, "
                    "but every extent must be at least 1",
                )
            elif size > _LARGEST_ARRAY_GIB << 30:
                yield Problem(
                    at,
                    f"with {given}: `{array.name}` gets {size / 2**30:.3g} GiB; "
                    f"at most {_LARGEST_ARRAY_GIB} GiB are allowed",
                )


def _corners(sizes: Table) -> Iterator[dict[str, int | float]]:
    """Yield the sizes of every case of a table, with every combination of its ranges' ends.

    All at their least come first, all at their largest last; they alone for very many ranges.
    """
    for one in case_sizes(sizes):
        ends = [(size.min, size.max) for size in one.values() if isinstance(size, Range)]
        many = len(ends) > _MOST_RANGES
        for corner in zip(*ends, strict=True) if many else itertools.product(*ends):
            drawn = iter(corner)
            yield {
                name: next(drawn) if isinstance(size, Range) else size for name, size in one.items()
            }


def _numbers(value: Any, at: KeyPath) -> Iterator[tuple[KeyPath, int | float]]:
    """Yield every number of a size with its key path."""
    if isinstance(value, list):
        yield from (((*at, position), number) for position, number in enumerate(value))
    elif isinstance(value, dict):
        yield from (((*at, end), value[end]) for end in ("min", "max"))
    else:
        yield at, value
