"""Truth values that are spread out over a block, as a GPU has them.

The interpreter keeps the type of what was compared as that of the result, and only the
numpy array says that it is true or false. A comparison of scalars that meets a block is
spread out by the type: it becomes 0s and 1s in 32 bits. Triton 3.9 refuses such a mask
("mask has unsupported dtype"), and a 1 among them does not decide an `or`, as True does.
"""

from collections.abc import Callable
from typing import Any

_SPREADING = ("create_splat", "create_unsplat")


def install(interpreter: Any) -> None:
    """Have truth values stay truth values."""
    builder_class = interpreter.InterpreterBuilder
    for name in _SPREADING:
        if hasattr(builder_class, name):  # the second is not in all versions
            setattr(builder_class, name, _truthful(getattr(builder_class, name)))


def _truthful(spread: Callable[..., Any]) -> Callable[..., Any]:
    def truthful(builder: Any, *args: Any) -> Any:
        result = spread(builder, *args)
        # Which of the arguments is the value, versions do not agree on.
        if any(arg.data.dtype == bool for arg in args if hasattr(arg, "data")):
            result.data = result.data.astype(bool)
        return result

    return truthful
