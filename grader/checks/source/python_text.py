"""A Python source as a tree, if it is no hostile one."""

from __future__ import annotations

import ast
import functools

_MOST_DEPTH = 100  # nested expressions; Python's own functions go through them recursively


@functools.lru_cache(maxsize=4)
def parsed(text: str) -> ast.Module | None:
    """Return the tree of a source, None if it has errors or is nested too deeply to be a person's.

    `a + a + …` is nested as well, so that `ast.unparse` would exceed the recursion limit.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    level: list[ast.AST] = [tree]
    for _ in range(_MOST_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return tree
    return None


@functools.lru_cache(maxsize=2048)
def walk(node: ast.AST) -> tuple[ast.AST, ...]:
    """Return the nodes of `ast.walk`: each wrong case asks the same about the same trees."""
    return tuple(ast.walk(node))
