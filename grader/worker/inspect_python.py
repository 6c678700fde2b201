"""Say what a Python hand-in defines, without running it.

    python -I -S inspect_python.py FILE ENTRY      prints one JSON object

A process of its own because parsing a hostile file may take the parser down.
"""

import ast
import json
import sys
from pathlib import Path


def inspect(source: bytes, entry: str) -> dict:  # type: ignore[type-arg] # plain JSON
    """Return {"syntax": …} or {"functions": […], "assigned": […], "entry": {…}|None}.

    What the parser takes may still be too deep for those who walk the tree.
    """
    try:
        return _inspect(ast.parse(source), entry)
    except SyntaxError as error:
        return {"syntax": {"message": error.msg, "line": error.lineno, "column": error.offset}}
    except (RecursionError, MemoryError):
        return _no_python("too deeply nested")
    except ValueError as error:
        return _no_python(str(error) or type(error).__name__)


def _no_python(message: str) -> dict:  # type: ignore[type-arg] # plain JSON
    return {"syntax": {"message": message, "line": None, "column": None}}


def _inspect(tree: ast.Module, entry: str) -> dict:  # type: ignore[type-arg] # plain JSON
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    found = next((node for node in reversed(functions) if node.name == entry), None)
    return {
        "functions": [node.name for node in functions],
        "assigned": sorted(_assigned(tree)),
        "entry": _parameters(found) if found else None,
    }


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
        "decorators": [ast.unparse(decorator) for decorator in node.decorator_list],
    }


if __name__ == "__main__":
    print(json.dumps(inspect(Path(sys.argv[1]).read_bytes(), sys.argv[2])))
