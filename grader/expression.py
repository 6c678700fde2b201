"""Small arithmetic over a case's sizes: shapes, least bytes, flops.

`4 * rows * cols`, `min(m, n)`, `2 * n + 8`: integers, names, + - * // % **,
parentheses, min and max. Parsed with Python's own parser, evaluated by us, so
that a spec file can compute but not call.
"""

from __future__ import annotations

import ast
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


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression over integer names."""

    text: str
    names: frozenset[str]

    @classmethod
    def parse(cls, text: str | int) -> Expression:
        """Parse `text`; raise ValueError, with a sentence, if it is not one."""
        source = str(text)
        names: set[str] = set()
        _walk(_tree(source), names)
        return cls(source, frozenset(names))

    def evaluate(self, values: Mapping[str, int | float]) -> int:
        """Return the value; every name must be in `values` (KeyError)."""
        return _evaluate(_tree(self.text), values)


def _tree(source: str) -> ast.expr:
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
            for argument in arguments:
                _walk(argument, names)
        case _:
            raise ValueError(
                f"{ast.unparse(node)!r} is not allowed here: use integers, size names, "
                "+ - * // % ** ( ) min max"
            )


def _evaluate(node: ast.expr, values: Mapping[str, int | float]) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return int(values[name])
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_evaluate(left, values), _evaluate(right, values))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _FUNCTIONS[name](*(_evaluate(argument, values) for argument in arguments))
    raise AssertionError(ast.dump(node))
