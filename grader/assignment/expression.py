"""Integer expressions over a case's sizes, for shapes, least bytes and flops.

`4 * rows * cols`, `min(m, n)`, `2 * n + 8`: integers, names, + - * // % **,
parentheses, min and max. Python parses them and this module evaluates them, so that a
spec cannot call other functions or compute endlessly.
"""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[..., int]] = {"min": min, "max": max}

_LARGEST = 2**80  # far beyond any shape or flop count, and still fast to compute
_LARGEST_EXPONENT = 64
_LONGEST = 200  # characters: Python's parser recurses


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression over integers."""

    text: str
    names: frozenset[str]

    @classmethod
    def parse(cls, text: str | int) -> Expression:
        """Parse `text`. Raises ValueError, with a sentence, if it is no expression."""
        source = str(text).strip()
        names: set[str] = set()
        _walk(_tree(source), names)
        return cls(source, frozenset(names))

    def evaluate(self, values: Mapping[str, int | float]) -> int:
        """Return the value; every name must be in `values` (KeyError).

        Raises ValueError, with a sentence, if the result is no integer within bounds.
        """
        try:
            return _evaluate(_tree(self.text), values)
        except ValueError as error:
            raise ValueError(f"{self.text!r} {error}") from None

    def calls(self, names: Mapping[str, str], functions: Mapping[str, str]) -> str:
        """Return the expression as nested calls in C: `times(4, rows)`.

        `names` maps each name to its C expression, `functions` each of
        + - * // % ** min max to a function of two arguments.
        """
        return _calls(_tree(self.text), names, functions)


def _tree(source: str) -> ast.expr:
    if len(source) > _LONGEST:
        raise ValueError(f"{source[:20]!r}… is longer than {_LONGEST} characters")
    try:
        return ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError):
        raise ValueError(f"{source!r} is not an arithmetic expression") from None


def _walk(node: ast.expr, names: set[str]) -> None:
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return
        case ast.Name(id=name):
            names.add(name)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            _walk(left, names)
            _walk(right, names)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            if len(arguments) < 2:
                raise ValueError(f"{ast.unparse(node)!r} needs two values or more")
            for argument in arguments:
                _walk(argument, names)
        case _:
            raise ValueError(
                f"{ast.unparse(node)!r} is not allowed here: use integers, size names, "
                "+ - * // % ** ( ) min max"
            )


_SYMBOLS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}


def _calls(node: ast.expr, names: Mapping[str, str], functions: Mapping[str, str]) -> str:
    match node:
        case ast.Constant(value=int(value)):
            return str(value)
        case ast.Name(id=name):
            return names[name]
        case ast.BinOp(left=left, op=op, right=right):
            symbol, arguments = _SYMBOLS[type(op)], [left, right]
        case ast.Call(func=ast.Name(id=symbol), args=arguments):
            pass
        case _:
            raise AssertionError(ast.dump(node))  # `parse` refuses everything else
    calls = (_calls(argument, names, functions) for argument in arguments)
    return functools.reduce(lambda left, right: f"{functions[symbol]}({left}, {right})", calls)


def _evaluate(node: ast.expr, values: Mapping[str, int | float]) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return _bounded(value)
        case ast.Name(id=name):
            number = values[name]
            if number != int(number):
                raise ValueError(f"needs integers, but `{name}` is {number}")
            return _bounded(int(number))
        case ast.BinOp(left=left, op=op, right=right):
            return _operate(op, _evaluate(left, values), _evaluate(right, values))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _FUNCTIONS[name](*(_evaluate(argument, values) for argument in arguments))
    raise AssertionError(ast.dump(node))  # `parse` has refused everything else


def _operate(op: ast.operator, left: int, right: int) -> int:
    if isinstance(op, ast.Pow) and not 0 <= right <= _LARGEST_EXPONENT:
        raise ValueError(f"takes the power {right}; allowed are 0 to {_LARGEST_EXPONENT}")
    if isinstance(op, ast.FloorDiv | ast.Mod) and right == 0:
        raise ValueError("divides by zero")
    return _bounded(_OPERATORS[type(op)](left, right))


def _bounded(value: int) -> int:
    if abs(value) > _LARGEST:
        raise ValueError("is larger than 2**80")
    return value
