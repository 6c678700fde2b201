"""What Triton's compiler refuses in a kernel: the line in the student's file, and plain words.

Triton counts lines from the kernel's `def`, wraps an error once for each function that was inlined,
and some of its own exceptions as text.
"""

import ast
import gc
import inspect
import re
from typing import Any


def has_place(error: BaseException) -> bool:
    """True if the compiler says which part of which source it refuses."""
    link: BaseException | None = error
    while link is not None and not _is_placed(link):
        link = link.__cause__
    return link is not None


def place(error: BaseException, source: Any) -> None:
    """Leave the line and the plain message of a compiler's error on the error, for the log.

    `source` is what Triton was to compile, an `ASTSource`.
    """
    innermost, cause = error, error
    while cause.__cause__ is not None:
        cause = cause.__cause__
        if _is_placed(cause):
            innermost = cause
    node, text = getattr(innermost, "node", None), getattr(innermost, "src", None)
    message = str(getattr(innermost, "error_message", None) or cause)
    # Triton wraps some of its own exceptions as text.
    message = re.sub(r"^\w+\((['\"])(.*)\1\)$", r"\2", message, flags=re.DOTALL)
    hint = _constant_hint(message, node, source)
    line = None
    function = _function_of(text, source.fn)
    if node is not None and function is not None:
        line = _definition_line(function) + node.lineno - 1
    # Whatever Python raised in the compiler: the kernel does not compile.
    kind = type(cause if node is None else innermost).__name__
    words = kind, f"{message} ({hint})" if hint else message, line
    error.grader_words = words  # type: ignore[attr-defined] # `worker_log` reads it


def _is_placed(error: BaseException) -> bool:
    return hasattr(error, "node") and hasattr(error, "src")


def _function_of(text: str | None, kernel: Any) -> Any:
    """Return the kernel, or the device function of the file, that has this source."""
    from triton.runtime.jit import JITFunction

    if text is None or text == kernel.src:
        return kernel
    live = (thing for thing in gc.get_objects() if issubclass(type(thing), JITFunction))
    file = kernel.fn.__code__.co_filename
    return next(
        (one for one in live if one.src == text and one.fn.__code__.co_filename == file), None
    )


def _definition_line(function: Any) -> int:
    """Return the line of a function's `def`, which is line 1 to the compiler."""
    lines, first = inspect.getsourcelines(function.fn)
    for number, line in enumerate(lines):
        if re.match(r"\s*def\s", line):
            return first + number
    return first


def _constant_hint(message: str, node: Any, source: Any) -> str:
    """Explain an error whose cause is an argument that is 1; "" for other errors."""
    missing = re.search(r"'(?:int|constexpr)' object has no attribute '(\w+)'", message)
    annotated = {p.name for p in source.fn.params if p.is_constexpr}
    ones = [
        name
        for name, kind in source.signature.items()
        if kind == "constexpr" and name not in annotated
    ]
    if missing is None or not ones:
        return ""
    named = [part.id for part in ast.walk(node) if isinstance(part, ast.Name)] if node else []
    # In a helper function the argument has another name.
    name = next((name for name in named if name in ones), ones[0])
    return (
        f"an integer argument that is 1 becomes a compile-time constant, as `{name}` did: "
        f"use @triton.jit(do_not_specialize=[{name!r}]), or do not use .{missing[1]} on it"
    )
