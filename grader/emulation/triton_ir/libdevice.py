"""Functions of libdevice by their symbols, as `tl.extra.cuda.libdevice` calls them."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from grader.emulation.triton_ir import arithmetic

T = torch.Tensor


def _wide(function: Callable[[T], T]) -> Callable[[T], T]:
    """Compute in float64, where a function of torch's loses digits."""
    return lambda a: function(a.double()).to(a.dtype)


def _norm(*parts: T) -> T:
    total: T = torch.stack(torch.broadcast_tensors(*parts)).double().square().sum(0)  # type: ignore[no-untyped-call] # torch's own
    return total.sqrt().to(parts[0].dtype)


def _bits(a: T) -> T:
    """Return the bits of integers as a dimension of their own, the lowest first."""
    width = 8 * a.element_size()
    return (a[..., None] >> torch.arange(width, dtype=a.dtype)) & 1


def _leading_zeros(a: T) -> T:
    highest = _bits(a).flip(-1).to(torch.int32)
    return torch.where(a == 0, highest.shape[-1], highest.argmax(-1)).int()


def _first_set(a: T) -> T:
    return torch.where(a == 0, 0, _bits(a).to(torch.int32).argmax(-1) + 1).int()


def _reverse(a: T) -> T:
    bits = _bits(a).flip(-1)
    return (bits << torch.arange(bits.shape[-1], dtype=a.dtype)).sum(-1, dtype=a.dtype)


def _to(kind: torch.dtype, rounded: Callable[[T], T]) -> Callable[[T], T]:
    return lambda a: arithmetic.CASTS["arith.fptosi"](rounded(a), kind)


_NAMES: dict[str, Callable[..., T]] = {
    "abs": torch.abs, "fabs": torch.abs, "acos": torch.acos, "acosh": torch.acosh,
    "asin": torch.asin, "asinh": torch.asinh, "atan": torch.atan, "atan2": torch.atan2,
    "atanh": torch.atanh, "ceil": torch.ceil, "copysign": torch.copysign, "cos": torch.cos,
    "cosh": torch.cosh, "erf": torch.erf, "erfc": torch.erfc, "erfinv": torch.erfinv,
    "exp": torch.exp, "exp2": torch.exp2, "expm1": torch.expm1, "floor": torch.floor,
    "fma": arithmetic.fma, "fmod": torch.fmod, "hypot": torch.hypot,
    "ldexp": torch.ldexp, "lgamma": torch.lgamma, "log": torch.log, "log10": torch.log10,
    "log1p": torch.log1p, "log2": torch.log2, "nearbyint": torch.round, "pow": torch.pow,
    "rcbrt": lambda a: a.sign() * a.abs().pow(-1 / 3), "rint": torch.round,
    "cbrt": lambda a: a.sign() * a.abs().pow(1 / 3), "rsqrt": torch.rsqrt, "sin": torch.sin,
    "sinh": torch.sinh, "sqrt": torch.sqrt, "tan": torch.tan, "tanh": torch.tanh,
    "trunc": torch.trunc, "fmax": torch.fmax, "fmin": torch.fmin, "fdividef": torch.div,
    "fast_fdividef": torch.div, "fast_exp": torch.exp, "fast_log": torch.log,
    "fast_cos": torch.cos, "fast_sin": torch.sin, "fast_tan": torch.tan, "fast_pow": torch.pow,
    "fast_log2": torch.log2, "fast_log10": torch.log10, "isnan": lambda a: a.isnan().int(),
    "isinf": lambda a: a.isinf().int(), "finite": lambda a: a.isfinite().int(),
    "sigmoid": torch.sigmoid, "frcp_rn": torch.reciprocal, "fsqrt_rn": torch.sqrt,
    "frsqrt_rn": torch.rsqrt, "fdiv_rn": torch.div, "drcp_rn": torch.reciprocal,
    "cospi": _wide(lambda a: torch.cos(a % 2 * math.pi)), "exp10": _wide(lambda a: 10.0**a),
    "sinpi": _wide(lambda a: torch.sin(a % 2 * math.pi)), "fast_exp10": _wide(lambda a: 10.0**a),
    "cyl_bessel_i0": torch.special.i0, "cyl_bessel_i1": torch.special.i1,
    "j0": torch.special.bessel_j0, "j1": torch.special.bessel_j1,
    "y0": torch.special.bessel_y0, "y1": torch.special.bessel_y1,
    "erfcx": torch.special.erfcx, "erfcinv": _wide(lambda a: torch.erfinv(1 - a)),
    "normcdf": torch.special.ndtr, "normcdfinv": torch.special.ndtri,
    "fdim": lambda a, b: (a - b).clamp(min=0), "rhypot": lambda a, b: 1 / torch.hypot(a, b),
    "norm3d": _norm, "norm4d": _norm, "rnorm3d": lambda *a: 1 / _norm(*a),
    "rnorm4d": lambda *a: 1 / _norm(*a), "round": arithmetic.round_away,
    "llround": _to(torch.int64, arithmetic.round_away), "llrint": _to(torch.int64, torch.round),
    "logb": lambda a: torch.log2(a.abs()).floor(), "nextafter": torch.nextafter,
    "scalbn": torch.ldexp, "powi": torch.pow, "saturate": lambda a: a.nan_to_num(0).clamp(0, 1),
    "signbit": lambda a: a.signbit().int(), "signbitd": lambda a: a.signbit().int(),
    "isnand": lambda a: a.isnan().int(), "isinfd": lambda a: a.isinf().int(),
    "isfinited": lambda a: a.isfinite().int(),
    "fadd_rn": torch.add, "fsub_rn": torch.sub, "fmul_rn": torch.mul, "dadd_rn": torch.add,
    "dsub_rn": torch.sub, "dmul_rn": torch.mul, "ddiv_rn": torch.div, "dsqrt_rn": torch.sqrt,
    "fma_rn": arithmetic.fma, "fmaf_rn": arithmetic.fma,
    "popc": lambda a: _bits(a).sum(-1).int(), "popcll": lambda a: _bits(a).sum(-1).int(),
    "clz": _leading_zeros, "clzll": _leading_zeros, "ffs": _first_set, "ffsll": _first_set,
    "brev": _reverse, "brevll": _reverse, "llabs": torch.abs,
    "mulhi": lambda a, b: (a.to(torch.int64) * b >> 32).int(),
    "float_as_int": lambda a: a.view(torch.int32),
    "int_as_float": lambda a: a.view(torch.float32),
    "float_as_uint": lambda a: a.view(torch.int32),
    "uint_as_float": lambda a: a.view(torch.float32),
    "double_as_longlong": lambda a: a.view(torch.int64),
    "longlong_as_double": lambda a: a.view(torch.float64),
    "int2float_rn": torch.Tensor.float, "ll2float_rn": torch.Tensor.float,
    "int2double_rn": torch.Tensor.double, "ll2double_rn": torch.Tensor.double,
    "double2float_rn": torch.Tensor.float,
    **{
        f"{source}2{name}_{mode}": _to(kind, rounded)
        for source in ("float", "double")
        for name, kind in (("int", torch.int32), ("ll", torch.int64))
        for mode, rounded in (
            ("rn", torch.round), ("rz", torch.trunc), ("rd", torch.floor), ("ru", torch.ceil)
        )
    },
}  # fmt: skip


def function(symbol: str) -> Callable[..., T] | None:
    """Return what a symbol such as `__nv_tanhf` computes; None if it is not known."""
    name = symbol.removeprefix("__nv_")
    return _NAMES.get(name) or _NAMES.get(name.removesuffix("f"))


def names() -> list[str]:
    """Return the names of all functions, without the prefix and the suffix of a symbol."""
    return sorted(_NAMES)
