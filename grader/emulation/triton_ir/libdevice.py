"""Functions of libdevice by their symbols, as `tl.extra.cuda.libdevice` calls them."""

from __future__ import annotations

from collections.abc import Callable

import torch

T = torch.Tensor


def _fast_divide(a: T, b: T) -> T:
    return a / b


_NAMES: dict[str, Callable[..., T]] = {
    "abs": torch.abs, "fabs": torch.abs, "acos": torch.acos, "acosh": torch.acosh,
    "asin": torch.asin, "asinh": torch.asinh, "atan": torch.atan, "atan2": torch.atan2,
    "atanh": torch.atanh, "ceil": torch.ceil, "copysign": torch.copysign, "cos": torch.cos,
    "cosh": torch.cosh, "erf": torch.erf, "erfc": torch.erfc, "erfinv": torch.erfinv,
    "exp": torch.exp, "exp2": torch.exp2, "expm1": torch.expm1, "floor": torch.floor,
    "fma": lambda a, b, c: a * b + c, "fmod": torch.fmod, "hypot": torch.hypot,
    "ldexp": torch.ldexp, "lgamma": torch.lgamma, "log": torch.log, "log10": torch.log10,
    "log1p": torch.log1p, "log2": torch.log2, "nearbyint": torch.round, "pow": torch.pow,
    "rcbrt": lambda a: a.sign() * a.abs().pow(-1 / 3), "rint": torch.round,
    "cbrt": lambda a: a.sign() * a.abs().pow(1 / 3), "rsqrt": torch.rsqrt, "sin": torch.sin,
    "sinh": torch.sinh, "sqrt": torch.sqrt, "tan": torch.tan, "tanh": torch.tanh,
    "trunc": torch.trunc, "fmax": torch.fmax, "fmin": torch.fmin, "fdividef": _fast_divide,
    "fast_fdividef": _fast_divide, "fast_exp": torch.exp, "fast_log": torch.log,
    "fast_cos": torch.cos, "fast_sin": torch.sin, "fast_tan": torch.tan, "fast_pow": torch.pow,
    "fast_log2": torch.log2, "fast_log10": torch.log10, "isnan": lambda a: a.isnan().int(),
    "isinf": lambda a: a.isinf().int(), "finite": lambda a: a.isfinite().int(),
    "sigmoid": torch.sigmoid, "frcp_rn": torch.reciprocal, "fsqrt_rn": torch.sqrt,
    "frsqrt_rn": torch.rsqrt, "fdiv_rn": torch.div, "drcp_rn": torch.reciprocal,
}  # fmt: skip


def function(symbol: str) -> Callable[..., T] | None:
    """Return what a symbol such as `__nv_tanhf` computes; None if it is not known."""
    name = symbol.removeprefix("__nv_")
    return _NAMES.get(name) or _NAMES.get(name.removesuffix("f"))


def names() -> list[str]:
    """Return the names of all functions, without the prefix and the suffix of a symbol."""
    return sorted(_NAMES)
