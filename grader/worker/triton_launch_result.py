"""Emulates the result of a launch or warm-up in the interpreter: a compiled kernel.

On a GPU, a launch returns the compiled kernel. Triton's tutorials read its registers and shared
memory before they choose a grid, and launch through it. The interpreter's None would stop such a
correct submission. The emulated kernel has typical figures, large enough that a grid computed from
them is small, and its launch runs the same function in the interpreter.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

REGISTERS = 128  # per thread
SHARED_BYTES = 16 << 10  # per block; not 0, because callers divide by it
_THREADS = 1024
_DEFAULTS = {"num_warps": 4, "num_stages": 3, "num_ctas": 1}


class _Texts(dict[str, str]):
    """The texts of the compilation stages, all empty."""

    def __missing__(self, _stage: str) -> str:
        return ""


class CompiledKernel:
    """The part of Triton's `CompiledKernel` that host code uses."""

    n_regs = REGISTERS
    n_spills = 0
    n_max_threads = _THREADS

    def __init__(self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._kernel = kernel
        self._given = {**dict(zip(kernel.arg_names, args, strict=False)), **kwargs}
        names = frozenset(kernel.arg_names)
        self._options = {name: value for name, value in kwargs.items() if name not in names}
        self.name = kernel.fn.__name__
        self.metadata = SimpleNamespace(
            **{**_DEFAULTS, **self._options, "name": self.name, "shared": SHARED_BYTES}
        )
        self.asm = _Texts()
        self.kernel = b""
        self.hash = ""
        self.module = self.function = 0

    def _init_handles(self) -> None:
        """Do nothing: there is no module to load."""

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        """Return a function that launches the kernel on a grid of three numbers.

        It takes all arguments of the kernel by position. Values of constexpr arguments are
        ignored, because they were compiled in.
        """
        from triton.runtime import interpreter

        whole = (grid[0], grid[1], grid[2])
        names = self._kernel.arg_names
        constexprs = interpreter.GridExecutor(self._kernel.fn, names, whole).constexprs
        compiled_in = {name: self._given[name] for name in constexprs if name in self._given}

        def launch(*args: Any, stream: object = None) -> None:
            del stream
            if len(args) != len(names):
                raise TypeError(
                    f"a compiled kernel takes all {len(names)} arguments of `{self.name}`, "
                    f"constexpr ones too ({len(args)} given)"
                )
            given = zip(names, args, strict=True)
            values = [compiled_in.get(name, value) for name, value in given]
            self._kernel.run(*values, grid=whole, warmup=False, **self._options)

        return launch


def install() -> None:
    """Make launches and warm-ups of new interpreted kernels return a `CompiledKernel`."""
    from triton.runtime import interpreter

    kernel_class = interpreter.InterpretedFunction
    make = kernel_class.__init__

    def __init__(kernel: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        make(kernel, *args, **kwargs)
        launch = kernel.run  # before Triton 3.6, each kernel has its own function

        def run(*args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> CompiledKernel:
            compiled = CompiledKernel(kernel, args, kwargs)
            if not warmup:
                launch(*args, grid=grid, warmup=False, **kwargs)
            return compiled

        kernel.run = run

    def __getitem__(kernel: Any, grid: Any) -> Callable[..., CompiledKernel]:  # noqa: N807
        return lambda *args, **kwargs: kernel.run(*args, grid=grid, **kwargs)

    def warmup(kernel: Any, *args: Any, grid: Any, **kwargs: Any) -> CompiledKernel:
        compiled: CompiledKernel = kernel.run(*args, grid=grid, warmup=True, **kwargs)
        return compiled

    kernel_class.__init__ = __init__
    kernel_class.__getitem__ = __getitem__
    kernel_class.warmup = warmup
