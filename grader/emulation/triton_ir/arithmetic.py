"""Operations that compute each element from those at the same place.

A table from the operation's name to a function on torch tensors. Where C++ leaves a result
undefined (a division by zero, a shift by too much, a float out of an integer's range) a GPU gives
some value, and so do these: nothing may crash the executor.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import torch

from grader.emulation.triton_ir.ir import Operation
from grader.emulation.triton_ir.types import dtype_of

T = torch.Tensor
Binary = Callable[[T, T], T]
_MASK = (1 << 64) - 1


def unsigned(value: T) -> T:
    """Return an integer's bits as a number that is not negative, as int64 (of 64 bits: wrapped)."""
    if value.dtype is torch.bool:
        return value.to(torch.int64)
    width = 8 * value.element_size()
    return value.to(torch.int64) & ((1 << width) - 1) if width < 64 else value


def _flip(value: T) -> T:
    """Return int64 whose signed order is the unsigned order of the bits."""
    wide = unsigned(value)
    return wide ^ torch.iinfo(torch.int64).min if value.dtype is torch.int64 else wide


def _number(value: T) -> T:
    return value.to(torch.int8) if value.dtype is torch.bool else value


def _signed(value: T) -> T:
    return -value.to(torch.int8) if value.dtype is torch.bool else value


def _divide(a: T, b: T) -> T:
    # The processor traps on a division by zero and on the smallest number by -1.
    zero, minus = b == 0, b == -1
    safe = torch.where(zero | minus, torch.ones_like(b), b)
    quotient = torch.div(a, safe, rounding_mode="trunc")
    return torch.where(zero, torch.full_like(quotient, -1), torch.where(minus, -a, quotient))


def _remainder(a: T, b: T) -> T:
    safe = torch.where((b == 0) | (b == -1), torch.ones_like(b), b)
    return torch.where(b == 0, a, torch.fmod(a, safe))


def _divided_unsigned(signed: Binary, wide: Callable[[int, int], int]) -> Binary:
    """Return a division of unsigned numbers; `wide` is of 64 bits, which torch cannot divide."""

    def divided(a: T, b: T) -> T:
        if a.dtype is not torch.int64:
            return signed(unsigned(a), unsigned(b)).to(a.dtype)
        if bool((a >= 0).all()) and bool((b > 0).all()):
            return signed(a, b)  # sizes and offsets
        return _wide(a, b, lambda x, y: wide(x, y) if y else _MASK)

    return divided


def _wide(a: T, b: T, function: Callable[[int, int], int]) -> T:
    """Compute with unsigned 64-bit numbers one by one."""
    a, b = torch.broadcast_tensors(a, b)  # type: ignore[no-untyped-call] # torch's own
    pairs = zip(a.flatten().tolist(), b.flatten().tolist(), strict=True)
    numbers = [function(x & _MASK, y & _MASK) for x, y in pairs]
    wrap = [n - (1 << 64) if n >> 63 else n for n in numbers]
    return torch.tensor(wrap, dtype=torch.int64).view(a.shape)


def _shift_left(a: T, b: T) -> T:
    width = 8 * a.element_size()
    far = unsigned(b) >= width
    return torch.where(far, torch.zeros_like(a), a << torch.where(far, torch.zeros_like(b), b))


def _shift_right(a: T, b: T) -> T:
    return a >> b.clamp(0, 8 * a.element_size() - 1)


def _shift_right_unsigned(a: T, b: T) -> T:
    width = 8 * a.element_size()
    far = unsigned(b) >= width
    by = torch.where(far, torch.zeros_like(b), b)
    if a.dtype is torch.int64:
        kept = torch.where(by == 0, torch.full_like(a, -1), ~(torch.full_like(a, -1) << (64 - by)))
        result = torch.where(by == 0, a, (a >> by) & kept)
    else:
        result = (unsigned(a) >> by.to(torch.int64)).to(a.dtype)
    return torch.where(far, torch.zeros_like(result), result)


def _high(a: T, b: T) -> T:
    """The upper half of an unsigned product."""
    if a.dtype is torch.int64:
        return _wide(a, b, lambda x, y: x * y >> 64)
    return ((unsigned(a) * unsigned(b)) >> (8 * a.element_size())).to(a.dtype)


_INTEGERS: dict[str, Binary] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "slt": lambda a, b: _signed(a) < _signed(b),
    "sle": lambda a, b: _signed(a) <= _signed(b),
    "sgt": lambda a, b: _signed(a) > _signed(b),
    "sge": lambda a, b: _signed(a) >= _signed(b),
    "ult": lambda a, b: _flip(a) < _flip(b),
    "ule": lambda a, b: _flip(a) <= _flip(b),
    "ugt": lambda a, b: _flip(a) > _flip(b),
    "uge": lambda a, b: _flip(a) >= _flip(b),
}


def _unordered(a: T, b: T) -> T:
    return a.isnan() | b.isnan()


_FLOATS: dict[str, Binary] = {
    "oeq": lambda a, b: a == b,
    "ogt": lambda a, b: a > b,
    "oge": lambda a, b: a >= b,
    "olt": lambda a, b: a < b,
    "ole": lambda a, b: a <= b,
    "one": lambda a, b: (a != b) & ~_unordered(a, b),
    "ord": lambda a, b: ~_unordered(a, b),
    "ueq": lambda a, b: (a == b) | _unordered(a, b),
    "ugt": lambda a, b: ~(a <= b),
    "uge": lambda a, b: ~(a < b),
    "ult": lambda a, b: ~(a >= b),
    "ule": lambda a, b: ~(a > b),
    "une": lambda a, b: a != b,
    "uno": _unordered,
}


def _to_integer(value: T, kind: torch.dtype) -> T:
    """Truncate as a GPU does: NaN is 0, what is too large is the largest."""
    if kind is torch.bool:
        return value != 0
    limits = torch.iinfo(kind)
    wide = value.to(torch.float64).nan_to_num(nan=0.0).clamp(float(limits.min), float(limits.max))
    whole = wide.trunc()
    over = whole >= float(limits.max)
    result = torch.where(over, torch.zeros_like(whole), whole).to(kind)
    return torch.where(over, torch.full_like(result, limits.max), result)


def _to_unsigned(value: T, kind: torch.dtype) -> T:
    width = 8 * kind.itemsize
    if width == 64:
        return _to_integer(value, kind)
    wide = value.to(torch.float64).nan_to_num(nan=0.0).clamp(0.0, float((1 << width) - 1))
    return wide.trunc().to(torch.int64).to(kind)


def _from_unsigned(value: T, kind: torch.dtype) -> T:
    if value.dtype is torch.int64:
        low = (value & 0xFFFFFFFF).to(torch.float64)
        high = _shift_right_unsigned(value, torch.full_like(value, 32)).to(torch.float64)
        return (high * 4294967296.0 + low).to(kind)
    return unsigned(value).to(kind)


def _truncate(value: T, kind: torch.dtype) -> T:
    return (value & 1) != 0 if kind is torch.bool else value.to(kind)


def bitcast(value: T, kind: torch.dtype) -> T:
    """Return the same bits as another type of the same width."""
    if value.dtype is kind:
        return value
    if torch.bool in (value.dtype, kind):
        return value.to(kind)
    return value.contiguous().view(kind)


# One operand and the type of the result.
CASTS: dict[str, Callable[[T, torch.dtype], T]] = {
    "arith.extsi": lambda a, kind: _signed(a).to(kind),
    "arith.extui": lambda a, kind: unsigned(a).to(kind),
    "arith.trunci": _truncate,
    "arith.sitofp": lambda a, kind: _signed(a).to(kind),
    "arith.uitofp": _from_unsigned,
    "arith.fptosi": _to_integer,
    "arith.fptoui": _to_unsigned,
    "arith.extf": lambda a, kind: a.to(kind),
    "arith.truncf": lambda a, kind: a.to(kind),
    "arith.bitcast": bitcast,
    "arith.index_cast": lambda a, kind: a.to(kind),
    "tt.bitcast": bitcast,
    "tt.ptr_to_int": lambda a, kind: a,
    "tt.int_to_ptr": lambda a, kind: a,
}


def _fp_to_fp(op: Operation, a: T) -> T:
    kind = dtype_of(op.result_types[0])
    if "rtz" in op.words and a.dtype is torch.float32 and kind in (torch.bfloat16, torch.float16):
        lost = 16 if kind is torch.bfloat16 else 13
        a = (a.view(torch.int32) >> lost << lost).view(torch.float32)
    return a.to(kind)


def _widened(function: Callable[[T], T]) -> Callable[[T], T]:
    """Compute in float32 what torch lacks in a narrower type."""

    def wide(a: T) -> T:
        return function(a.float()).to(a.dtype) if a.element_size() < 4 else function(a)

    return wide


def round_away(a: T) -> T:
    """Round to the nearest whole number, halves away from zero."""
    whole = a.trunc()
    return torch.where((a - whole).abs() >= 0.5, whole + a.sign(), whole)


UNARY: dict[str, Callable[[T], T]] = {
    "arith.negf": torch.neg,
    "math.absf": torch.abs,
    "math.absi": torch.abs,
    "math.ceil": torch.ceil,
    "math.cos": torch.cos,
    "math.erf": _widened(torch.erf),
    "math.exp": torch.exp,
    "math.exp2": _widened(torch.exp2),
    "math.expm1": torch.expm1,
    "math.floor": torch.floor,
    "math.log": torch.log,
    "math.log10": torch.log10,
    "math.log1p": torch.log1p,
    "math.log2": torch.log2,
    "math.round": round_away,
    "math.roundeven": torch.round,
    "math.rsqrt": torch.rsqrt,
    "math.sin": torch.sin,
    "math.sqrt": torch.sqrt,
    "math.tan": torch.tan,
    "math.tanh": torch.tanh,
    "math.trunc": torch.trunc,
    "tt.precise_sqrt": torch.sqrt,
}

BINARY: dict[str, Binary] = {
    "arith.addf": torch.add,
    "arith.addi": lambda a, b: a ^ b if a.dtype is torch.bool else a + b,
    "arith.andi": torch.bitwise_and,
    "arith.divf": torch.div,
    "arith.divsi": _divide,
    "arith.divui": _divided_unsigned(_divide, operator.floordiv),
    "arith.maximumf": torch.maximum,
    "arith.maxnumf": torch.fmax,
    "arith.maxsi": torch.maximum,
    "arith.maxui": lambda a, b: torch.where(_flip(a) >= _flip(b), a, b),
    "arith.minimumf": torch.minimum,
    "arith.minnumf": torch.fmin,
    "arith.minsi": torch.minimum,
    "arith.minui": lambda a, b: torch.where(_flip(a) <= _flip(b), a, b),
    "arith.mulf": torch.mul,
    "arith.muli": lambda a, b: a & b if a.dtype is torch.bool else a * b,
    "arith.ori": torch.bitwise_or,
    "arith.remf": torch.fmod,
    "arith.remsi": _remainder,
    "arith.remui": _divided_unsigned(_remainder, operator.mod),
    "arith.shli": _shift_left,
    "arith.shrsi": _shift_right,
    "arith.shrui": _shift_right_unsigned,
    "arith.subf": torch.sub,
    "arith.subi": lambda a, b: a ^ b if a.dtype is torch.bool else a - b,
    "arith.xori": torch.bitwise_xor,
    "math.copysign": torch.copysign,
    "math.powf": torch.pow,
    "tt.mulhiui": _high,
    "tt.precise_divf": torch.div,
}


def fma(a: T, b: T, c: T) -> T:
    """Return a · b + c, rounded once."""
    if a.dtype is torch.float32:
        # One rounding: a product of two float32 is exact in float64.
        return (a.double() * b.double() + c.double()).float()
    return torch.addcmul(c, a, b)


def _clamp(op: Operation, x: T, low: T, high: T) -> T:
    if "all" in op.words:
        return torch.minimum(torch.maximum(x, low), high)
    return torch.fmin(torch.fmax(x, low), high)


# Operations that look at more of the operation than its operands.
OTHERS: dict[str, Callable[..., T]] = {
    "arith.cmpf": lambda op, a, b: _FLOATS[op.words[0]](a, b),
    "arith.cmpi": lambda op, a, b: _INTEGERS[op.words[0]](a, b),
    "arith.select": lambda op, c, a, b: torch.where(c, a, b),
    "math.fma": lambda op, a, b, c: fma(a, b, c),
    "tt.clampf": _clamp,
    "tt.fp_to_fp": _fp_to_fp,
}


def compute(op: Operation, operands: list[T]) -> T | None:
    """Compute an operation element by element; None if it is none of these."""
    name = op.name
    if (binary := BINARY.get(name)) is not None:
        return binary(operands[0], operands[1])
    if (unary := UNARY.get(name)) is not None:
        return unary(operands[0])
    if (cast := CASTS.get(name)) is not None:
        return cast(operands[0], dtype_of(op.result_types[0]))
    if (other := OTHERS.get(name)) is not None:
        return other(op, *operands)
    return None


def names() -> list[str]:
    """Return the names of these operations."""
    return sorted([*UNARY, *BINARY, *CASTS, *OTHERS])
