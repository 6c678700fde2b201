"""The placeholder that a skeleton solves: every output is the sum of all inputs.

One element of an output is the sum of one element of each array that is only
read (the one of the same number, counted round if that array is shorter), of
its own old value if it is `inout`, and of the scalars that are no extents. Of
floats a whole-number output counts those above zero. An `inout` with nothing beside
it grows by 1. So every argument matters, whatever the shapes are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from grader.assignment.signature import Argument, ElementType
from grader.commands.scaffold.draft import Draft


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one language says it.

    `element` is the element of an array for an output, `convert` a value in the
    type of the sum, `positive` whether it is above zero.
    """

    element: Callable[[Argument, Argument], str]
    scalar: Callable[[Argument], str]
    convert: Callable[[str, ElementType, str], str]
    positive: Callable[[str, str], str]


def sum_type(draft: Draft, output: Argument) -> str:
    """Return in what the sum is made: float, double or long (of 64 bits)."""
    kind = draft.kind(output)
    if not kind.is_float:
        return "long"
    parts = (output, *draft.inputs, *draft.others)
    return "double" if any(draft.kind(part) is ElementType.FLOAT64 for part in parts) else "float"


def sum_text(draft: Draft, output: Argument, dialect: Dialect) -> str:
    """Return the sum for one element of `output`."""
    total = sum_type(draft, output)
    own = (output,) if output.role.read else ()
    terms = []
    for argument in (*own, *draft.inputs, *draft.others):
        text = dialect.element(argument, output) if argument.is_array else dialect.scalar(argument)
        kind = draft.kind(argument)
        if kind.is_float and total == "long":
            terms.append(dialect.positive(text, total))
        else:
            terms.append(dialect.convert(text, kind, total))
    if len(terms) == len(own):
        terms.append("1")  # an array by itself must change, or no launch at all would be right
    return " + ".join(terms)


def same_shape(one: Argument, other: Argument) -> bool:
    """True if both arrays have as many elements, as the spec writes it."""
    return count_text(one) == count_text(other)


def count_text(array: Argument) -> str:
    """Return how many elements an array has, in Python's words: `rows * cols`."""
    assert array.shape is not None
    plain = [extent.text.replace(" ", "") for extent in array.shape]
    return " * ".join(text if text.isidentifier() or text.isdecimal() else f"({text})"
                      for text in plain)  # fmt: skip
