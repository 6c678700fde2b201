"""Reports what a Python source file defines, without running it.

    python -I -S start.py inspect_python.py FILE ENTRY      prints one JSON object

Runs in a separate process, because a hostile file may crash the parser.
"""

import ast
import builtins
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

_MOST_CALLS = 5
_TRITON = "triton"
_EXTENSION = "cpp_extension"  # torch's module that builds CUDA source
_DECORATORS = ("jit", "constexpr_function")
_TILE_ARRAY = "handle"  # the attribute in which a tile has its value, in Triton's own code


def inspect(source: bytes, entry: str) -> dict:  # type: ignore[type-arg] # plain JSON
    """Return {"syntax": …}, or what the file defines:

        {"functions": […], "kernels": […], "assigned": […], "entry": {…}|None, "foreign": […],
         "inline": int|None}

    Kernels are those functions that a decorator compiles. A file that parses may still be nested
    too deeply for a walk over the tree.
    """
    return parsed(source, lambda tree: _inspect(tree, entry))


def parsed(source: bytes, read: Callable[[ast.Module], dict[str, Any]]) -> dict[str, Any]:
    """Return what `read` finds in a file, or {"syntax": …}."""
    try:
        return read(ast.parse(source))
    except SyntaxError as error:
        return {"syntax": {"message": error.msg, "line": error.lineno, "column": error.offset}}
    except (RecursionError, MemoryError):
        return _syntax_error("too deeply nested")
    except ValueError as error:
        return _syntax_error(str(error) or type(error).__name__)


def _syntax_error(message: str) -> dict:  # type: ignore[type-arg] # plain JSON
    return {"syntax": {"message": message, "line": None, "column": None}}


def _is_jit(function: ast.FunctionDef) -> bool:
    names = (ast.unparse(one).partition("(")[0] for one in function.decorator_list)
    return any(name.endswith("jit") for name in names)


def _inspect(tree: ast.Module, entry: str) -> dict:  # type: ignore[type-arg] # plain JSON
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    found = next((node for node in reversed(functions) if node.name == entry), None)
    return {
        "functions": [node.name for node in functions],
        "kernels": [node.name for node in functions if _is_jit(node)],
        "assigned": sorted(_assigned(tree)),
        "entry": _parameters(found) if found else None,
        "foreign": _foreign(tree),
        "inline": _inline(tree),
    }


def _inline(tree: ast.Module) -> int | None:
    """Return the line that asks torch to build CUDA source, None if there is none."""
    lines = [
        node.lineno
        for node in ast.walk(tree)
        if (isinstance(node, ast.ImportFrom) and (node.module or "").endswith(_EXTENSION))
        or (isinstance(node, ast.Attribute) and node.attr == "load_inline")
    ]
    return min(lines, default=None)


def _assigned(tree: ast.Module) -> set[str]:
    """Return names bound at module level by other means than `def`."""
    names = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            continue
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                names.add(inner.id)
            elif isinstance(inner, ast.alias):
                names.add((inner.asname or inner.name).split(".")[0])
            elif isinstance(inner, (ast.FunctionDef, ast.ClassDef)):
                names.add(inner.name)
    return names


def _parameters(node: ast.FunctionDef) -> dict:  # type: ignore[type-arg] # plain JSON
    positional = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
    required_keywords = [
        argument.arg
        for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        if default is None
    ]
    return {
        "line": node.lineno,
        "text": f"def {node.name}({ast.unparse(node.args)})",
        "positional": positional,
        "defaults": len(node.args.defaults),
        "variadic": node.args.vararg is not None,
        "required_keywords": required_keywords,
        "kernel": _is_jit(node),
    }


# ---- calls of functions in kernels that are not Triton's ----


def _foreign(tree: ast.Module) -> list:  # type: ignore[type-arg] # plain JSON
    """Return up to five {"line", "what"} of calls in kernels that are not Triton's.

    Triton's compiler refuses most of them. Names can be bound to anything, so a call is only a
    hint.
    """
    kernels = [f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) and _is_kernel(f)]
    names = _foreign_names(tree) if kernels else set()
    found = [
        {"line": node.lineno, "what": f"the kernel `{kernel.name}` {what}"}
        for kernel in kernels
        for node, what in _foreign_in(kernel, names)
    ]
    return found[:_MOST_CALLS]


def _is_kernel(function: ast.FunctionDef) -> bool:
    """True if a decorator has the name of one of Triton's."""
    parts = [part for decorator in function.decorator_list for part in ast.walk(decorator)]
    return any(
        (isinstance(part, ast.Name) and part.id in _DECORATORS)
        or (isinstance(part, ast.Attribute) and part.attr in _DECORATORS)
        for part in parts
    )


def _foreign_names(tree: ast.Module) -> set[str]:
    """Return the names of other packages, and of ordinary functions of the file."""
    names = {f.name for f in tree.body if isinstance(f, ast.FunctionDef) and not _is_kernel(f)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            packages = [name for name in node.names if name.name.split(".")[0] != _TRITON]
            names.update((name.asname or name.name).split(".")[0] for name in packages)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] != _TRITON:
            names.update(name.asname or name.name for name in node.names)
    return names - set(dir(builtins))


def _foreign_in(kernel: ast.FunctionDef, names: set[str]) -> list[tuple[ast.expr, str]]:
    own = {argument.arg for argument in ast.walk(kernel.args) if isinstance(argument, ast.arg)}
    found: list[tuple[ast.expr, str]] = []
    for statement in kernel.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Call):
                root, *rest = _dotted(node.func)
                if root in names - own:
                    name = ".".join([root, *rest])[:60]
                    found.append((node, f"calls `{name}`, which is not of Triton's language"))
            elif isinstance(node, ast.Attribute) and node.attr == _TILE_ARRAY:
                found.append((node, f"reaches into a tile (`.{_TILE_ARRAY}`)"))
    return found


def _dotted(called: ast.expr) -> list[str]:
    """Return ["a", "b", "c"] for `a.b.c`, and [""] for any other expression."""
    names: list[str] = []
    while isinstance(called, ast.Attribute):
        names.append(called.attr)
        called = called.value
    return [called.id, *reversed(names)] if isinstance(called, ast.Name) else [""]


def main() -> None:
    """Print what the file of the command line defines."""
    warnings.simplefilter("ignore")  # they would be printed before the result
    print(json.dumps(inspect(Path(sys.argv[1]).read_bytes(), sys.argv[2])))
