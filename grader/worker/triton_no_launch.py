"""What host code does itself: skips all kernel launches, and logs torch's operations.

The submission runs as usual, with its autotuners and heuristics, but without the launches. If an
output has changed after that, torch, numpy or ctypes changed it. The judge compares the outputs;
the logged names of torch operations are for people. The grid function and the hooks of a launch
still run: they are Python, and could do the work.
"""

import contextlib
import inspect
from collections.abc import Iterator
from typing import Any

from grader.worker import worker_log

_MOST_OPERATIONS = 20
# Operations that allocate memory or inspect tensors, but compute nothing.
_HARMLESS = frozenset(
    {
        *("empty", "empty_like", "empty_strided", "new_empty", "zeros", "zeros_like", "zero_"),
        *("new_zeros", "full", "fill_", "view", "reshape", "_unsafe_view", "as_strided", "slice"),
        *("select", "t", "transpose", "permute", "expand", "unsqueeze", "squeeze", "detach"),
        *("alias", "unbind", "split", "to", "clone", "item", "size", "stride", "numel", "dim"),
        *("data_ptr", "is_contiguous", "contiguous", "element_size", "__get__", "untyped_storage"),
    }
)


def install() -> None:
    """Leave out all launches of this process."""
    import triton
    from triton.runtime import jit

    def idle(*_: Any, **__: Any) -> None:
        return None

    run = jit.JITFunction.run

    def compile_only(kernel: Any, *args: Any, **kwargs: Any) -> Any:
        # A warm-up compiles and does not launch.
        if kwargs.get("warmup"):
            return run(kernel, *args, **kwargs)
        return _call_hooks(kernel, kwargs.get("grid"), args, kwargs)

    jit.JITFunction.run = compile_only
    compiled = getattr(triton.compiler, "CompiledKernel", None)
    if compiled is not None:
        compiled.__getitem__ = lambda *_: idle


def _call_hooks(kernel: Any, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Call the hooks before a launch, and the grid if it is a function, as triton does."""
    names = inspect.getfullargspec(kernel.fn).args
    known = {name: value for name, value in kwargs.items() if name in names}
    # Exceptions are reported by the runs with launches.
    with contextlib.suppress(Exception):
        for hook in getattr(kernel, "pre_run_hooks", ()):
            hook(*args, **known)
        if callable(grid):
            grid(inspect.getcallargs(kernel.fn, *args, **known))


@contextlib.contextmanager
def torch_watched() -> Iterator[None]:
    """Log the torch operations that compute something in the block."""
    # Not TorchDispatchMode, which imports torch's compiler (a second or two).
    from torch.overrides import TorchFunctionMode

    seen: dict[str, None] = {}

    class Watch(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            name = str(getattr(func, "__name__", func))
            if name not in _HARMLESS and len(seen) < _MOST_OPERATIONS:
                seen[name] = None
            return func(*args, **(kwargs or {}))

    try:
        with Watch():
            yield
    finally:
        if seen:
            worker_log.tell("torch", operations=list(seen))
