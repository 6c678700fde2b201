"""Launches that launch nothing: what is written all the same, no kernel wrote.

For the rules check. A hand-in runs as ever, its autotuners and heuristics too,
but the last step, the launch itself, is left out. If an output has changed
after that, torch, numpy or ctypes changed it. The judge looks at the outputs;
the names of torch's operations told here are for a person to look at. What a
launch asks of the hand-in before, its grid and hooks, is asked all the same:
they are Python, and could do the work.
"""

import contextlib
import inspect
from collections.abc import Iterator
from typing import Any

from grader.worker import worker_log

_TOLD = 20
# They make room or look at what is there, and compute nothing.
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
    """Leave out all launches of this process, in the interpreter and on a GPU."""
    import triton
    from triton.runtime import interpreter, jit

    def idle(*_: Any, **__: Any) -> None:
        return None

    def ask_only(executor: Any, *args: Any, **kwargs: Any) -> None:
        _ask(executor, executor.grid, args, kwargs)

    interpreter.GridExecutor.__call__ = ask_only
    run = jit.JITFunction.run

    def compile_only(kernel: Any, *args: Any, **kwargs: Any) -> Any:
        # Asked to compile and not to launch, triton does that by itself.
        if kwargs.get("warmup"):
            return run(kernel, *args, **kwargs)
        return _ask(kernel, kwargs.get("grid"), args, kwargs)

    jit.JITFunction.run = compile_only
    compiled = getattr(triton.compiler, "CompiledKernel", None)
    if compiled is not None:
        compiled.__getitem__ = lambda *_: idle


def _ask(kernel: Any, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Call the hooks before a launch, and the grid if it is a function, as triton does."""
    names = inspect.getfullargspec(kernel.fn).args
    known = {name: value for name, value in kwargs.items() if name in names}
    # What they raise is told by the runs that launch.
    with contextlib.suppress(Exception):
        for hook in getattr(kernel, "pre_run_hooks", ()):
            hook(*args, **known)
        if callable(grid):
            grid(inspect.getcallargs(kernel.fn, *args, **known))


@contextlib.contextmanager
def torch_watched() -> Iterator[None]:
    """Tell the operations of torch that the block computes with."""
    # Not torch's other kind of mode: that one imports a compiler, for a second or two.
    from torch.overrides import TorchFunctionMode

    seen: dict[str, None] = {}

    class Watch(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            name = str(getattr(func, "__name__", func))
            if name not in _HARMLESS and len(seen) < _TOLD:
                seen[name] = None
            return func(*args, **(kwargs or {}))

    try:
        with Watch():
            yield
    finally:
        if seen:
            worker_log.tell("torch", operations=list(seen))
