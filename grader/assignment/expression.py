"""Integer expressions over a case's sizes, for shapes, least bytes and flops.

`4 * rows * cols`, `min(m, n)`, `cdiv(n, 256)`: integers, names, + - * // % **,
parentheses, min, max, and cdiv, which divides and rounds up. Python parses them and this
module evaluates them, so that a spec cannot call other functions or compute endlessly.
"""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

_SYMBOLS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}
_FUNCTIONS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "min": min,
    "max": max,
    "cdiv": lambda left, right: -(-left // right),
}

_LARGEST = 2**80  # far beyond any shape or flop count, and still fast to compute
_LARGEST_EXPONENT = 64
_LONGEST = 200  # characters: Python's parser recurses

# An integer, a name, or a key of _FUNCTIONS with its two or more operands.
_Tree: TypeAlias = "int | str | tuple[str, tuple[_Tree, ...]]"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression over integers."""

    text: str
    _tree: _Tree

    @classmethod
    def parse(cls, text: str | int) -> Expression:
        """Parse `text`. Raises ValueError, with a sentence, if it is no expression."""
        source = str(text).strip()
        if len(source) > _LONGEST:
            raise ValueError(f"{source[:20]!r}… is longer than {_LONGEST} characters")
        try:
            node = ast.parse(source, mode="eval").body
        except (SyntaxError, ValueError):
            raise ValueError(f"{source!r} is not an arithmetic expression") from None
        return cls(source, _parsed(node))

    @property
    def names(self) -> frozenset[str]:
        """The sizes that the expression needs."""
        return _folded(
            self._tree,
            lambda leaf: frozenset({leaf} if isinstance(leaf, str) else ()),
            lambda _, left, right: left | right,
        )

    def evaluate(self, values: Mapping[str, int | float]) -> int:
        """Return the value; every name must be in `values` (KeyError).

        Raises ValueError, with a sentence, if the result is no integer within bounds.
        """

        def number_of(leaf: int | str) -> int:
            number = values[leaf] if isinstance(leaf, str) else leaf
            if number != int(number):
                raise ValueError(f"needs integers, but `{leaf}` is {number}")
            return _bounded(int(number))

        try:
            return _folded(self._tree, number_of, _operate)
        except ValueError as error:
            raise ValueError(f"{self.text!r} {error}") from None

    def calls(self, names: Mapping[str, str], functions: Mapping[str, str]) -> str:
        """Return the expression as nested calls in C: `times(4, rows)`.

        `names` maps each name to its C expression, `functions` each of
        + - * // % ** min max cdiv to a function of two arguments.
        """
        return _folded(
            self._tree,
            lambda leaf: names[leaf] if isinstance(leaf, str) else str(leaf),
            lambda symbol, left, right: f"{functions[symbol]}({left}, {right})",
        )


def _parsed(node: ast.expr) -> _Tree:
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.Name(id=name):
            return name
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _SYMBOLS:
            return _SYMBOLS[type(op)], (_parsed(left), _parsed(right))
        case ast.Call(
            func=ast.Name(id="min" | "max" | "cdiv" as name), args=arguments, keywords=[]
        ):
            if len(arguments) < 2:
                raise ValueError(f"{ast.unparse(node)!r} needs two values or more")
            if name == "cdiv" and len(arguments) > 2:
                raise ValueError(f"{ast.unparse(node)!r} needs two values")
            return name, tuple(map(_parsed, arguments))
    raise ValueError(
        f"{ast.unparse(node)!r} is not allowed here: use integers, size names, "
        "+ - * // % ** ( ) min max cdiv"
    )


def _folded(tree: _Tree, leaf: Callable[[int | str], T], combine: Callable[[str, T, T], T]) -> T:
    """Return what `combine` makes, from left to right, of the values of the leaves."""
    if not isinstance(tree, tuple):
        return leaf(tree)
    symbol, operands = tree
    values = (_folded(operand, leaf, combine) for operand in operands)
    return functools.reduce(functools.partial(combine, symbol), values)


def _operate(symbol: str, left: int, right: int) -> int:
    if symbol == "**" and not 0 <= right <= _LARGEST_EXPONENT:
        raise ValueError(f"takes the power {right}; allowed are 0 to {_LARGEST_EXPONENT}")
    if symbol in ("//", "%", "cdiv") and right == 0:
        raise ValueError("divides by zero")
    return _bounded(_FUNCTIONS[symbol](left, right))


def _bounded(value: int) -> int:
    if abs(value) > _LARGEST:
        raise ValueError("is larger than 2**80")
    return value
