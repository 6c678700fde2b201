"""Send the launches of Numba's kernels to the executor, another process.

    kernel[grid, block](…) ─→ the arguments' types ─→ PTX, by Numba's own compiler
                                                   ─→ a message to the executor; arrays come back

As with Triton (`triton_launches`), this process holds no output.
"""

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from grader.protocol import launches
from grader.worker import triton_compile_time
from grader.worker.numba_arrays import DeviceArray, as_tensor
from grader.worker.triton_launches import Launches, LaunchStopped

_INVALID = "[CUresult.CUDA_ERROR_INVALID_VALUE] invalid argument"  # the driver's words
_THREADS = 1024
_COLOUR = re.compile(r"\x1b\[\d*m")


class CompiledKernel:
    """A kernel's PTX for some types, as `Launches` takes it."""

    def __init__(self, text: str, names: list[str]) -> None:
        self.text = text
        self.names = names
        self.kinds: list[Any] = [None] * len(names)
        self.options: Mapping[str, int] = {}
        self.settings: Mapping[str, Any] = {}


class NumbaLaunches:
    """The launches of this process; `file` is the student's, `capability` that of the GPU."""

    def __init__(self, link: Launches, file: str, capability: tuple[int, int]) -> None:
        self._link = link
        self._file = file
        self._capability = capability
        self._compiled: dict[tuple[Any, ...], str] = {}

    def refuse(self, what: str) -> NoReturn:
        """Tell the judge what host code needs that is not here, and stop the call."""
        self._link.refuse(what, self._line())
        raise LaunchStopped(what)

    def _line(self) -> int | None:
        """Return the innermost line of the student's file that is running."""
        frame = sys._getframe()
        while frame is not None and frame.f_code.co_filename != self._file:
            frame = frame.f_back  # type: ignore[assignment] # None ends the loop
        return frame.f_lineno if frame is not None else None

    def call(self, dispatcher: Any, values: tuple[Any, ...], config: "Configured") -> None:
        """Launch a kernel."""
        # Parameters that are left out have their default.
        left_out = dispatcher.py_func.__code__.co_argcount - len(values)
        if 0 < left_out <= len(defaults := dispatcher.py_func.__defaults__ or ()):
            values += defaults[-left_out:]
        hosts = [(i, value) for i, value in enumerate(values) if isinstance(value, np.ndarray)]
        given = list(values)
        for i, value in hosts:  # Numba copies arrays of the host there and back
            given[i] = DeviceArray(as_tensor(value.copy()), self.refuse)
        types = tuple(dispatcher.typeof_pyval(value) for value in given)
        types = _declared(dispatcher, types)
        kernel = CompiledKernel(self.compile(dispatcher, types), _names(dispatcher, len(given)))
        grid, block = config.grid, config.block
        if min(grid) < 1 or min(block) < 1 or np.prod(block) > _THREADS or block[2] > 64:
            raise RuntimeError(_INVALID)
        if grid[0] > launches.MOST_PROGRAMS or max(grid[1:]) > launches.MOST_PROGRAMS_YZ:
            raise RuntimeError(_INVALID)
        name = dispatcher.py_func.__name__
        kernel.settings = {
            "kernel": name if name.isidentifier() else "kernel",
            "file": Path(self._file).name,
            "block": list(block),
            "shared": config.shared,
            "line": self._line(),
        }
        passed = [self._passed(one, kind) for one, kind in zip(given, types, strict=True)]
        self._link.launch(kernel, grid, passed)
        for i, value in hosts:
            if value.flags.writeable:
                given[i].copy_to_host(value)

    def _passed(self, value: Any, kind: Any) -> Any:
        """Return an argument as `Launches` takes it."""
        from numba.cuda import types

        if isinstance(value, DeviceArray):
            return value.held
        if isinstance(kind, types.Float):
            return float(value)
        if isinstance(kind, (types.Integer, types.Boolean)):
            return int(value)
        return self.refuse(f"arguments of type {type(value).__name__}")

    def compile(self, dispatcher: Any, types: tuple[Any, ...]) -> str:
        """Return the PTX of a kernel. Raises Numba's errors, with the line for the log."""
        from numba.cuda import compile as compiled

        key = (dispatcher, types)
        if key not in self._compiled:
            options = dispatcher.targetoptions
            if options.get("link"):
                self.refuse("kernels that are linked with other files")
            try:
                with triton_compile_time.told():
                    self._compiled[key], _ = compiled(
                        dispatcher.py_func,
                        types,
                        lineinfo=True,
                        device=False,
                        fastmath=options.get("fastmath", False),
                        cc=self._capability,
                        opt=True,
                        abi="numba",
                        output="ptx",
                    )
            except Exception as error:
                words = _words(error, self._file)
                error.grader_words = words  # type: ignore[attr-defined] # `worker_log` reads it
                raise
        return self._compiled[key]


class Configured:
    """A kernel with its grid and block: `kernel[grid, block, stream, shared]`."""

    def __init__(
        self, dispatcher: Any, grid: tuple[int, int, int], block: tuple[int, int, int], shared: int
    ) -> None:
        self._dispatcher = dispatcher
        self.grid, self.block, self.shared = grid, block, shared

    def __call__(self, *values: Any) -> None:
        """Launch the kernel."""
        self._dispatcher.call(values, self)


def install(recorder: NumbaLaunches) -> None:
    """Have kernels launched through the recorder in this process."""
    from numba.cuda.dispatcher import CUDADispatcher, normalize_kernel_dimensions

    def configure(
        kernel: Any, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: Any = 0
    ) -> Configured:
        (gx, gy, gz), (x, y, z) = normalize_kernel_dimensions(griddim, blockdim)
        grid, block = (int(gx), int(gy), int(gz)), (int(x), int(y), int(z))
        return Configured(kernel, grid, block, int(sharedmem))

    def forall(
        kernel: Any, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: Any = 0
    ) -> Callable[..., None]:
        threads = tpb or 128

        def launch(*values: Any) -> None:
            if ntasks > 0:
                configure(kernel, -(-ntasks // threads), threads, stream, sharedmem)(*values)

        return launch

    def compile_now(kernel: Any, sig: Any) -> None:
        from numba.core import sigutils

        types, _ = sigutils.normalize_signature(sig)
        recorder.compile(kernel, types)
        kernel.grader_types = [*getattr(kernel, "grader_types", []), types]
        kernel.overloads[tuple(types)] = None  # it has a signature now

    CUDADispatcher.configure = configure
    CUDADispatcher.forall = forall
    CUDADispatcher.compile = compile_now
    CUDADispatcher.call = lambda kernel, values, config: recorder.call(kernel, values, config)


def report_compiler() -> None:
    """Have the time of Numba's compiler told to the judge, on a GPU."""
    from numba.cuda.dispatcher import CUDADispatcher

    CUDADispatcher.compile = triton_compile_time.reported(CUDADispatcher.compile)


def leave_out() -> None:
    """Leave out all launches of this process, on a GPU."""
    from numba.cuda.dispatcher import CUDADispatcher

    CUDADispatcher.call = lambda *_: None


def _names(dispatcher: Any, count: int) -> list[str]:
    names = list(dispatcher.py_func.__code__.co_varnames[:count])
    return names + ["?"] * (count - len(names))


def _declared(dispatcher: Any, types: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the types that a kernel is compiled for: those of its decorator, if it names any."""
    declared = getattr(dispatcher, "grader_types", [])
    if not declared:
        return types
    for one in declared:
        if len(one) == len(types) and all(map(_fits, one, types)):
            return tuple(one)
    raise TypeError(
        f"No matching definition for argument type(s) {', '.join(map(str, types))}"
    )  # Numba's words


def _fits(declared: Any, given: Any) -> bool:
    from numba.cuda import types

    if isinstance(declared, types.Array) != isinstance(given, types.Array):
        return False
    if isinstance(declared, types.Array):
        same = declared.dtype == given.dtype and declared.ndim == given.ndim
        return same and declared.layout in ("A", given.layout)
    return True


def _words(error: BaseException, file: str) -> tuple[str, str, int | None]:
    """Return the kind, the message and the line of a compiler's error, for the log."""
    lines = [one.strip() for one in _COLOUR.sub("", str(error)).splitlines() if one.strip()]
    told: list[str] = []
    for one in lines:
        if one.startswith(("There are", "- Of which", "Overload", "File ", "raised from")):
            break
        if not one.startswith(("Failed in", "During:")):
            told.append(one.removeprefix(">>> "))
    return "CompilationError", " ".join(told)[:600], _line_of(error, file)


def _line_of(error: BaseException, file: str) -> int | None:
    """Return the line of the student's file at which the compiler was.

    Numba's errors do not keep it; the compiler's own functions have it at hand.
    """
    found = None
    trace = error.__traceback__
    while trace is not None:
        names = trace.tb_frame.f_locals
        for name in ("loc", "inst", "stmt", "expr", "constraint", "self"):
            one = names.get(name)
            place = one if name == "loc" else getattr(one, "loc", None)
            line = getattr(place, "line", None)
            if type(line) is int and getattr(place, "filename", None) == file:
                found = line  # the innermost
        collected = names.get("errors")  # by type inference, which raises one of them again
        if found is None and isinstance(collected, list) and collected:
            first = collected[0]
            found = _line_of(first, file) if first is not error else None
            place = getattr(first, "loc", None)
            if found is None and getattr(place, "filename", None) == file:
                found = getattr(place, "line", None)
        trace = trace.tb_next
    return found
