"""What PTX's instructions compute: functions of numpy arrays with an element for each thread.

`compute` has a function for each instruction that reads registers and writes one. It gets the
instruction's parts and its operands' values, of the types that `operand_types` says, and returns
the result, of `result_type`. Integers wrap around as they do on a GPU; a division by zero gives all
ones. Approximations (`ex2.approx`) are computed exactly, and rounded once; `tanh.approx`
to its 11 bits.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

# An array of numpy's: its stubs lose the types of elements in most operations.
Values = Any

DTYPES: dict[str, np.dtype[Any]] = {
    word: np.dtype(kind)
    for word, kind in {
        "pred": "?", "b8": "u1", "u8": "u1", "s8": "i1", "b16": "u2", "u16": "u2", "s16": "i2",
        "f16": "f2", "b32": "u4", "u32": "u4", "s32": "i4", "f32": "f4", "b64": "u8", "u64": "u8",
        "s64": "i8", "f64": "f8",
    }.items()
}  # fmt: skip
_DOUBLE = {"u2": "u4", "i2": "i4", "u4": "u8", "i4": "i8"}
_BITS = {1: np.dtype("u1"), 2: np.dtype("u2"), 4: np.dtype("u4"), 8: np.dtype("u8")}
_ROUNDINGS = ("rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi")


class UnknownError(Exception):
    """There is no such instruction here."""


def types_of(parts: tuple[str, ...]) -> list[str]:
    """Return the types among an instruction's parts, in order."""
    return [part for part in parts[1:] if part in DTYPES]


def _bits(value: Values) -> Values:
    return value.view(_BITS[value.itemsize])


# ---- floating point ----


def _directed(exact: Values, kind: np.dtype[Any], rounding: str) -> Values:
    """Round a wider value as the instruction says."""
    near = exact.astype(kind)
    if rounding in ("", "rn"):
        return near
    wide = near.astype(exact.dtype)
    down = np.nextafter(near, kind.type(-np.inf))
    up = np.nextafter(near, kind.type(np.inf))
    if rounding == "rm":
        return np.where(wide > exact, down, near)
    if rounding == "rp":
        return np.where(wide < exact, up, near)
    return np.where(np.abs(wide) > np.abs(exact), np.where(exact > 0, down, up), near)


def _two_sum(a: Values, b: Values) -> tuple[Values, Values]:
    """Return the sum, and what rounding took from it (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _split(a: Values) -> tuple[Values, Values]:
    scaled = a * 134217729.0
    high = scaled - (scaled - a)
    return high, a - high


def _fused(a: Values, b: Values, c: Values, rounding: str) -> Values:
    """Multiply and add with one rounding."""
    kind = a.dtype
    if kind.itemsize < 8:
        return _directed(a.astype("f8") * b.astype("f8") + c.astype("f8"), kind, rounding)
    # Dekker's product and the sum of its two parts: right but for the last bit in rare cases.
    product = a * b
    (ah, al), (bh, bl) = _split(a), _split(b)
    rest = ((ah * bh - product) + ah * bl + al * bh) + al * bl
    total, lost = _two_sum(product, c)
    better = total + (lost + rest)
    large = np.maximum(np.abs(a), np.abs(b)) > 1e150
    tiny = np.abs(product) < 1e-280
    return np.where(np.isfinite(better) & ~large & ~tiny, better, product + c)


def _rounding(parts: tuple[str, ...]) -> str:
    return next((part for part in parts if part in ("rn", "rz", "rm", "rp")), "")


def _arithmetic(operate: Callable[[Values, Values], Values]) -> Callable[..., Values]:
    def apply(parts: tuple[str, ...], a: Values, b: Values) -> Values:
        rounding = _rounding(parts)
        if a.dtype.kind == "f" and rounding in ("rz", "rm", "rp"):
            wide = "f8" if a.itemsize < 8 else "g"
            return _directed(operate(a.astype(wide), b.astype(wide)), a.dtype, rounding)
        return operate(a, b)

    return apply


def _unary(operate: Callable[[Values], Values]) -> Callable[..., Values]:
    """Return an operation that is computed in double precision, and rounded."""

    def apply(parts: tuple[str, ...], a: Values) -> Values:
        return operate(a.astype("f8")).astype(a.dtype)

    return apply


def _tanh(parts: tuple[str, ...], a: Values) -> Values:
    """`tanh.approx`, whose result has 11 bits: that shows in most tolerances."""
    exact = np.tanh(a.astype("f8"))
    mantissa, exponent = np.frexp(exact)
    return np.ldexp(np.rint(mantissa * 2048) / 2048, exponent).astype(a.dtype)


def _divide(parts: tuple[str, ...], a: Values, b: Values) -> Values:
    if a.dtype.kind == "f":
        return _arithmetic(np.divide)(parts, a, b)
    return _quotient(a, b)[0]


def _quotient(a: Values, b: Values) -> tuple[Values, Values]:
    """Return quotient and rest of integers, towards zero."""
    a, b = np.broadcast_arrays(a, b)
    zero = b == 0
    safe = np.where(zero, b.dtype.type(1), b)
    if a.dtype.kind == "i":
        least = np.iinfo(a.dtype).min
        wraps = (a == least) & (safe == -1)
        safe = np.where(wraps, a.dtype.type(1), safe)
        whole = a // safe
        whole += ((whole < 0) & (whole * safe != a)).astype(a.dtype)
        rest = np.where(wraps, a.dtype.type(0), a - whole * safe)
    else:
        whole = a // safe
        rest = a - whole * safe
    ones = np.full(1, -1).astype(a.dtype)
    return np.where(zero, ones, whole), np.where(zero, a, rest)


def _least(parts: tuple[str, ...], a: Values, b: Values) -> Values:
    if a.dtype.kind == "f" and "NaN" not in parts:
        return np.fmin(a, b)
    return np.minimum(a, b)


def _most(parts: tuple[str, ...], a: Values, b: Values) -> Values:
    if a.dtype.kind == "f" and "NaN" not in parts:
        return np.fmax(a, b)
    return np.maximum(a, b)


# ---- integers ----


def _high(a: Values, b: Values) -> Values:
    """Return the upper half of a product."""
    if a.itemsize < 8:
        wide = _DOUBLE[a.dtype.str[1:]]
        shift = 8 * a.itemsize
        return (a.astype(wide) * b.astype(wide) >> shift).astype(a.dtype)
    if a.dtype.kind == "i":
        high = _high(a.view("u8"), b.view("u8")).view("i8")
        return high - np.where(a < 0, b, 0) - np.where(b < 0, a, 0)
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    (a1, a0), (b1, b0) = (a >> half, a & low), (b >> half, b & low)
    middle = (a0 * b0 >> half) + (a1 * b0 & low) + (a0 * b1 & low)
    return a1 * b1 + (a1 * b0 >> half) + (a0 * b1 >> half) + (middle >> half)


def _multiply(parts: tuple[str, ...], a: Values, b: Values) -> Values:
    if "wide" in parts:
        wide = _DOUBLE[a.dtype.str[1:]]
        return a.astype(wide) * b.astype(wide)
    if "hi" in parts:
        a, b = np.broadcast_arrays(a, b)
        return _high(np.ascontiguousarray(a), np.ascontiguousarray(b))
    return _arithmetic(np.multiply)(parts, a, b)


def _multiply_add(parts: tuple[str, ...], a: Values, b: Values, c: Values) -> Values:
    if a.dtype.kind == "f":
        return _fused(a, b, c, _rounding(parts))
    return _multiply(parts, a, b) + c


def _shift(left: bool) -> Callable[..., Values]:
    def apply(parts: tuple[str, ...], a: Values, by: Values) -> Values:
        width = 8 * a.itemsize
        amount = np.minimum(by, width - 1).astype(a.dtype)
        moved = a << amount if left else a >> amount
        beyond = by >= width
        if a.dtype.kind == "i" and not left:
            return moved  # the sign, however far
        return np.where(beyond, a.dtype.type(0), moved)

    return apply


def _count_bits(parts: tuple[str, ...], a: Values) -> Values:
    octets = np.ascontiguousarray(a).view("u1").reshape(*a.shape, a.itemsize)
    return np.unpackbits(octets, axis=-1).sum(-1).astype("u4")


def _leading_zeros(parts: tuple[str, ...], a: Values) -> Values:
    width = 8 * a.itemsize
    found = np.full(a.shape, width, dtype="u4")
    rest = a.copy()
    for bit in range(width):
        found = np.where(rest != 0, width - 1 - bit, found)
        rest = rest >> a.dtype.type(1)
    return found.astype("u4")


def _reverse(parts: tuple[str, ...], a: Values) -> Values:
    octets = np.ascontiguousarray(a).view("u1").reshape(*a.shape, a.itemsize)
    bits = np.unpackbits(octets, axis=-1, bitorder="little")[..., ::-1]
    return np.packbits(bits, axis=-1, bitorder="little").view(a.dtype).reshape(a.shape)


def _extract(parts: tuple[str, ...], a: Values, at: Values, length: Values) -> Values:
    width = 8 * a.itemsize
    at, length = at & np.uint32(0xFF), length & np.uint32(0xFF)
    size = np.minimum(length, width - np.minimum(at, width)).astype(a.dtype)
    bits = _shift(left=False)(parts, _bits(a), at)
    mask = _shift(left=True)(parts, np.ones_like(bits), size.astype("u4")) - bits.dtype.type(1)
    field = np.where(size == width, bits, bits & mask)
    if a.dtype.kind == "i":
        sign = _shift(left=True)(parts, np.ones_like(bits), np.maximum(size, 1).astype("u4") - 1)
        negative = (field & sign) != 0
        field = np.where(negative & (size > 0), field | ~mask, field)
    return field.view(a.dtype)


def _insert(parts: tuple[str, ...], a: Values, into: Values, at: Values, length: Values) -> Values:
    at, length = at & np.uint32(0xFF), length & np.uint32(0xFF)
    ones = np.ones(1, dtype=a.dtype)
    mask = _shift(left=True)(parts, ones, length) - a.dtype.type(1)
    mask = np.where(length >= 8 * a.itemsize, ~a.dtype.type(0), mask)
    moved = _shift(left=True)(parts, mask, at)
    return (into & ~moved) | (_shift(left=True)(parts, a, at) & moved)


def _permute(parts: tuple[str, ...], a: Values, b: Values, chosen: Values) -> Values:
    if any(mode in parts for mode in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")):
        raise UnknownError(".".join(parts))
    both = a.astype("u8") | b.astype("u8") << np.uint64(32)
    result = np.zeros(np.broadcast_shapes(both.shape, chosen.shape), dtype="u4")
    for place in range(4):
        which = chosen >> np.uint32(4 * place)
        octet = (both >> ((which & np.uint32(7)).astype("u8") * np.uint64(8))) & np.uint64(0xFF)
        spread = np.where((octet & np.uint64(0x80)) != 0, np.uint64(0xFF), np.uint64(0))
        octet = np.where((which & np.uint32(8)) != 0, spread, octet)
        result |= octet.astype("u4") << np.uint32(8 * place)
    return result


def _logic(parts: tuple[str, ...], a: Values, b: Values, c: Values, table: Values) -> Values:
    """`lop3`: any function of three bits, of which `table` has the result for each."""
    if table.size != 1:
        raise UnknownError("lop3 without a constant")
    result = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape), dtype=a.dtype)
    for case in range(8):
        if int(table[0]) >> case & 1:
            chosen = (one if case & bit else ~one for one, bit in ((a, 4), (b, 2), (c, 1)))
            result |= functools.reduce(np.bitwise_and, chosen)
    return result


def _funnel(parts: tuple[str, ...], low: Values, high: Values, by: Values) -> Values:
    amount = by & np.uint32(31) if "wrap" in parts else np.minimum(by, 32)
    both = low.astype("u8") | high.astype("u8") << np.uint64(32)
    moved = (
        both << amount.astype("u8") >> np.uint64(32)
        if "l" in parts
        else both >> amount.astype("u8")
    )
    return moved.astype("u4")


# ---- comparisons and conversions ----

_COMPARED: dict[str, Callable[[Values, Values], Values]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "lo": np.less, "ls": np.less_equal, "hi": np.greater,
    "hs": np.greater_equal,
}  # fmt: skip


def compared(word: str, a: Values, b: Values) -> Values:
    """Return where a comparison holds; `ltu` and the like hold for NaN, too."""
    if word in ("num", "nan"):
        nan = np.isnan(a) | np.isnan(b)
        return nan if word == "nan" else ~nan
    unordered = len(word) == 3 and word.endswith("u")
    try:
        result = _COMPARED[word[:2] if unordered else word](a, b)
    except KeyError:
        raise UnknownError(f"setp.{word}") from None
    if a.dtype.kind != "f":
        return result
    nan = np.isnan(a) | np.isnan(b)
    if unordered:
        return result | nan
    return result & ~nan if word == "ne" else result


def converted(parts: tuple[str, ...], value: Values, kind: np.dtype[Any]) -> Values:
    """`cvt`: return a value in another type."""
    given = value.dtype
    whole = next((part for part in parts if part in ("rni", "rzi", "rmi", "rpi")), "")
    if given.kind == "f" and (whole or kind.kind != "f"):
        rounded: Callable[[Values], Values]
        rounded = {"rni": np.rint, "rmi": np.floor, "rpi": np.ceil}.get(whole, np.trunc)
        value = rounded(value)
    if given.kind == "f" and kind.kind != "f":
        bounds = np.iinfo(kind)
        exact = value.astype("f8")
        inside = (exact >= float(bounds.min)) & (exact < float(bounds.max) + (kind.itemsize < 8))
        result = np.where(inside, exact, 0.0).astype(kind)
        result = np.where(exact >= float(bounds.max), kind.type(bounds.max), result)
        return np.where(exact < float(bounds.min), kind.type(bounds.min), result)
    if kind.kind == "f":
        rounding = _rounding(parts)
        narrow = given.kind != "f" or kind.itemsize < given.itemsize
        result = (
            _directed(value.astype("f8") if given.kind != "f" else value, kind, rounding)
            if narrow and rounding not in ("", "rn")
            else value.astype(kind)
        )
        if "sat" in parts:
            result = np.where(np.isnan(result), kind.type(0), np.clip(result, 0, 1)).astype(kind)
        return result
    if "sat" in parts:
        bounds = np.iinfo(kind)
        low, high = max(bounds.min, np.iinfo(given).min), min(bounds.max, np.iinfo(given).max)
        value = np.clip(value, given.type(low), given.type(high))
    return value.astype(kind)


def _copy_sign(parts: tuple[str, ...], sign: Values, value: Values) -> Values:
    return np.copysign(value, sign)


def _test(parts: tuple[str, ...], a: Values) -> Values:
    tests: dict[str, Callable[[Values], Values]] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda one: ~np.isnan(one),
        "notanumber": np.isnan,
    }
    if parts[1] not in tests:
        raise UnknownError(".".join(parts))
    return tests[parts[1]](a)


compute: dict[str, Callable[..., Values]] = {
    "add": _arithmetic(np.add),
    "sub": _arithmetic(np.subtract),
    "mul": _multiply,
    "mad": _multiply_add,
    "fma": _multiply_add,
    "div": _divide,
    "rem": lambda parts, a, b: _quotient(a, b)[1],
    "min": _least,
    "max": _most,
    "abs": lambda parts, a: np.abs(a),
    "neg": lambda parts, a: -a,
    "sqrt": _unary(np.sqrt),
    "rsqrt": _unary(lambda a: 1 / np.sqrt(a)),
    "rcp": _unary(lambda a: 1 / a),
    "ex2": _unary(np.exp2),
    "lg2": _unary(np.log2),
    "sin": _unary(np.sin),
    "cos": _unary(np.cos),
    "tanh": _tanh,
    "and": lambda parts, a, b: a & b,
    "or": lambda parts, a, b: a | b,
    "xor": lambda parts, a, b: a ^ b,
    "not": lambda parts, a: ~a,
    "cnot": lambda parts, a: (a == 0).astype(a.dtype),
    "shl": _shift(left=True),
    "shr": _shift(left=False),
    "shf": _funnel,
    "lop3": _logic,
    "popc": _count_bits,
    "clz": _leading_zeros,
    "brev": _reverse,
    "bfe": _extract,
    "bfi": _insert,
    "prmt": _permute,
    "copysign": _copy_sign,
    "testp": _test,
}


def operand_types(parts: tuple[str, ...], count: int) -> list[str]:
    """Return the types of the operands after the first, of which there are `count`."""
    name, kind = parts[0], types_of(parts)[-1] if types_of(parts) else "b32"
    if name in ("shl", "shr"):
        return [kind, "u32"]
    if name == "bfe":
        return [kind, "u32", "u32"]
    if name == "bfi":
        return [kind, kind, "u32", "u32"]
    if name == "mad" and "wide" in parts:
        return [kind, kind, {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}[kind]]
    return [kind] * count


def result_type(parts: tuple[str, ...]) -> str:
    """Return the type of the first operand."""
    name, kinds = parts[0], types_of(parts)
    kind = kinds[-1] if kinds else "b32"
    if name == "testp":
        return "pred"
    if name in ("popc", "clz"):
        return "u32"
    if name in ("mul", "mad") and "wide" in parts:
        return {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}[kind]
    return kind


def flushed(parts: tuple[str, ...], value: Values) -> Values:
    """Apply `.ftz` and `.sat` to a result in single precision."""
    if value.dtype != np.float32:
        return value
    if "ftz" in parts:
        tiny = np.abs(value) < np.finfo(np.float32).tiny
        value = np.where(tiny, np.copysign(np.float32(0), value), value)
    if "sat" in parts:
        value = np.where(np.isnan(value), np.float32(0), np.clip(value, 0, 1))
    return value.astype(np.float32)
