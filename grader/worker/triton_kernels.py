"""Finds the kernels of a submission's file.

A kernel need not be a variable of its module: it may be in a class or a dict, or made by a function
that only a launch calls. Kernels that the import made are found among all live objects. Any other
kernel is made from its `def` alone, as in triton's interpreter; the enclosing function does not
run.
"""

import ast
import gc
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any


class Kernels:
    """The kernels and device functions of an imported file."""

    def __init__(self, module: Any, file: str) -> None:
        from triton.runtime.jit import JITFunction

        self._module = module
        self._file = file
        live = [thing for thing in gc.get_objects() if issubclass(type(thing), JITFunction)]
        own = [kernel for kernel in live if kernel.fn.__code__.co_filename == file]
        imported = [value for value in vars(module).values() if isinstance(value, JITFunction)]
        self._known = [*own, *(value for value in imported if value not in own)]

    def find(self, name: str, line: int | None) -> Any:
        """Return the kernel of this name; `line` is one of its decorators' lines or its `def`.

        Raises LookupError with the reason if there is none.
        """
        named = [kernel for kernel in self._known if kernel.__name__ == name]
        there = [kernel for kernel in named if line is not None and _heads(kernel, line)]
        if there or len(named) == 1:
            return (there or named)[0]
        kernel = self._make(name, line)
        self._known.append(kernel)
        return kernel

    def line(self, source: str, offset: int) -> int | None:
        """Return the file line of line `offset` of a kernel; the line of its `def` is 1."""
        for kernel in self._known:
            if kernel.src == source:
                return definition_line(kernel) + offset - 1
        return None

    def _make(self, name: str, line: int | None) -> Any:
        text = Path(self._file).read_bytes()
        tree = ast.parse(text)
        heads = {
            node: range(min(part.lineno for part in node.decorator_list), node.lineno + 1)
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and node.name == name and node.decorator_list
        }
        there = [node for node in heads if line is not None and line in heads[node]]
        if not there and len(heads) != 1:
            raise LookupError(f"no kernel `{name}` in the file")
        node = (there or list(heads))[0]
        outer = _outer_names(compile(tree, self._file, "exec"), name, heads[node])
        if outer:
            names = ", ".join(f"`{variable}`" for variable in outer)
            raise LookupError(f"it uses {names} of the function that it is made in")
        # Autotuners and heuristics stand above `triton.jit`, and are not needed.
        node.decorator_list = node.decorator_list[-1:]
        made: dict[str, Any] = {}
        try:
            exec(compile(ast.Module([node], []), self._file, "exec"), vars(self._module), made)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise LookupError(f"it cannot be made outside of its function: {reason}") from error
        if not hasattr(made[name], "params"):
            raise LookupError(f"`{name}` is no kernel outside of its function")
        return made[name]


def definition_line(kernel: Any) -> int:
    """Return the line of a kernel's `def`, which is line 1 to the compiler."""
    lines, first = inspect.getsourcelines(kernel.fn)
    for number, line in enumerate(lines):
        if re.match(r"\s*def\s", line):
            return first + number
    return first


def _heads(kernel: Any, line: int) -> bool:
    """True if the line is one of the kernel's decorators or its `def`."""
    return bool(kernel.fn.__code__.co_firstlineno <= line <= definition_line(kernel))


def _outer_names(code: CodeType, name: str, head: range) -> tuple[str, ...]:
    """Return the variables that the function takes from its enclosing functions."""
    for inner in _codes(code):
        if inner.co_name == name and inner.co_firstlineno in head:
            return inner.co_freevars
    return ()


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)
