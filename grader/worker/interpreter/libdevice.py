"""CUDA's libdevice in Triton's interpreter, with numpy in place of the GPU's library.

`triton.language.extra.libdevice` holds stubs that return None: the compiler puts
the functions of `triton.language.extra.cuda.libdevice` in their place, and the
interpreter does not. Those pick a symbol of the library by the types of the
arguments and hand it to the builder. So the functions of both modules become
calls of the latter, and the builder computes the symbols that numpy has. Their
last bits differ from a GPU's, those of the `fast_…` ones by more, as they are
approximations there. All others end the launch as not measured.

Both modules are changed before the hand-in is imported, so that names it
imports one by one are the changed ones.
"""

import functools
import importlib
import inspect
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from grader.worker.interpreter.limits import Budget

_Array = np.ndarray[Any, np.dtype[Any]]
_Function = Callable[..., Any]

_CUDA = "triton.language.extra.cuda.libdevice"
_MODULES = ("triton.language.extra.libdevice", _CUDA)
_erfc = np.vectorize(math.erfc, otypes=[np.float64])


def _rsqrt(x: _Array) -> Any:
    return 1 / np.sqrt(x)


def _exp10(x: _Array) -> Any:
    return np.power(10, x, dtype=x.dtype)


def _round(x: _Array) -> Any:
    """Round halves away from zero; numpy rounds them to even."""
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1, x), whole)


def _fma(x: _Array, y: _Array, z: _Array) -> Any:
    """Round once: a product of two float32 is exact in float64."""
    return np.multiply(x, y, dtype=np.float64) + z


def _fast_divide(x: _Array, y: _Array) -> Any:
    """Return 0 for divisors above 2**126, whose reciprocal a GPU flushes to 0."""
    return np.where(np.abs(y) > 2.0**126, x * 0, x / y)


def _fast_power(x: _Array, y: _Array) -> Any:
    """Return 2**(y log2 x), a NaN for every negative x."""
    return np.exp2(y * np.log2(x, dtype=np.float64))


# A symbol without its `__nv_`; with an `f` behind it is the one for float32.
_BOTH: dict[str, _Function] = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh,
    "atan": np.arctan, "atan2": np.arctan2, "atanh": np.arctanh, "cbrt": np.cbrt,
    "ceil": np.ceil, "copysign": np.copysign, "cos": np.cos, "cosh": np.cosh,
    "erf": np.vectorize(math.erf, otypes=[np.float64]), "erfc": _erfc, "exp": np.exp,
    "exp10": _exp10, "exp2": np.exp2, "expm1": np.expm1, "fabs": np.abs, "floor": np.floor,
    "fma": _fma, "fmod": np.fmod, "hypot": np.hypot, "log": np.log, "log10": np.log10,
    "log1p": np.log1p, "log2": np.log2, "nearbyint": np.rint,
    "normcdf": lambda x: _erfc(-x / math.sqrt(2)) / 2, "pow": np.power, "powi": np.power,
    "rint": np.rint, "round": _round, "rsqrt": _rsqrt, "sin": np.sin, "sinh": np.sinh,
    "sqrt": np.sqrt, "tan": np.tan, "tanh": np.tanh, "trunc": np.trunc,
}  # fmt: skip
_ROUNDED: dict[str, _Function] = {
    "add": np.add, "div": np.divide, "mul": np.multiply, "rcp": np.reciprocal,
    "sqrt": np.sqrt, "sub": np.subtract,
}  # fmt: skip
SYMBOLS: dict[str, _Function] = {
    **_BOTH,
    **{f"{name}f": function for name, function in _BOTH.items()},
    **{f"{kind}{name}_rn": function for name, function in _ROUNDED.items() for kind in "fd"},
    "abs": np.abs, "llabs": np.abs, "fma_rn": _fma, "fmaf_rn": _fma, "frsqrt_rn": _rsqrt,
    "saturatef": lambda x: np.fmin(np.fmax(x, 0), 1),  # a NaN becomes 0
    "isnanf": np.isnan, "isnand": np.isnan, "isinff": np.isinf, "isinfd": np.isinf,
    "finitef": np.isfinite, "isfinited": np.isfinite,
    "fast_cosf": np.cos, "fast_exp10f": _exp10, "fast_expf": np.exp,
    "fast_fdividef": _fast_divide, "fast_log10f": np.log10, "fast_log2f": np.log2,
    "fast_logf": np.log, "fast_powf": _fast_power, "fast_sinf": np.sin, "fast_tanf": np.tan,
}  # fmt: skip


def install(interpreter: Any, budget: "Budget") -> None:
    """Let kernels call libdevice by either module; `budget` ends what numpy has not."""
    running: list[str] = []  # what the kernel calls it: a symbol is no name for a student

    def refuse(name: str) -> Any:
        raise budget.stop("unsupported", f"the interpreter cannot run `{name}` of libdevice")

    def create_extern_elementwise(
        _builder: Any, _library: str, _path: str, symbol: str, args: Any, kind: Any, *_rest: Any
    ) -> Any:
        compute = SYMBOLS.get(symbol.removeprefix("__nv_"))
        if compute is None:
            return refuse(running[-1] if running else symbol)
        values = compute(*(argument.data for argument in args))
        return interpreter.TensorHandle(
            np.asarray(values).astype(interpreter._get_np_dtype(kind)), kind.scalar
        )

    def callable_in_kernels(name: str, function: _Function) -> _Function:
        original = cuda.get(name)

        @functools.wraps(function)
        def call(*args: Any, **more: Any) -> Any:
            if original is None:
                return refuse(name)
            running.append(name)
            try:
                more["_semantic"] = interpreter.interpreter_semantic
                return original(*args, **more)
            except KeyError as error:
                kinds = error.args[0]
                if not isinstance(kinds, tuple):
                    raise
                wanted = ", ".join(map(str, kinds))
                raise TypeError(f"libdevice has no `{name}` for {wanted}") from None
            finally:
                running.pop()

        return call

    interpreter.InterpreterBuilder.create_extern_elementwise = create_extern_elementwise
    cuda = _functions(_CUDA)
    for module in _MODULES:
        for name, function in _functions(module).items():
            setattr(importlib.import_module(module), name, callable_in_kernels(name, function))


def _functions(module: str) -> dict[str, _Function]:
    """Return the functions that a module defines itself."""
    members = vars(importlib.import_module(module))
    return {
        name: value
        for name, value in members.items()
        if inspect.isfunction(value) and value.__module__ == module
    }
