"""`tt.dot_scaled`: matrix products of the microscaling formats (OCP MX 1.0).

Elements are float4 e2m1 (two in a byte, the first in the low bits), float8, bfloat16 or float16;
each group of them along the sum shares a scale: 8 bits, e8m0, a power of two; or a float8
(NVFP4).
"""

from __future__ import annotations

import torch

from grader.emulation.common.errors import Unsupported
from grader.emulation.triton_ir import blocks
from grader.emulation.triton_ir.ir import Operation
from grader.emulation.triton_ir.values import Value, any_undefined, origin, wrapped

T = torch.Tensor
# Of e2m1: sign, two bits of exponent, one of mantissa.
_FLOAT4 = torch.tensor([sign * n for sign in (1, -1) for n in (0, 0.5, 1, 1.5, 2, 3, 4, 6)])
_FLOAT8 = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
_HALF = {"bf16": torch.bfloat16, "fp16": torch.float16}


def dot_scaled(op: Operation, values: list[Value]) -> Value:
    """Multiply blocks of which each may have a scale; sums are float32."""
    left_text, right_text = op.text.split(",")[:2]
    given = iter(values)
    formats = op.words[op.words.index("lhs") + 1], op.words[op.words.index("rhs") + 1]
    a, a_scale = next(given), next(given) if " scale " in left_text else None
    b, b_scale = next(given), next(given) if " scale " in right_text else None
    # The dimension along which two elements are packed, and the one of the sum.
    packed = -1 if op.attributes.get("lhs_k_pack") != "false" else -2
    left = _scaled(_numbers(a, formats[0], packed), a_scale, -1)
    packed = -2 if op.attributes.get("rhs_k_pack") != "false" else -1
    right = _scaled(_numbers(b, formats[1], packed), b_scale, -2)
    if "fp16" in formats:
        # Without tensor cores for these formats, the compiler multiplies in the wider operand's.
        left, right = (blocks.like(lambda d: _rounded(d, torch.float16), v) for v in (left, right))
    return blocks.product(left, right, next(given))


def _numbers(value: Value, form: str, packed: int) -> Value:
    """Return the elements as float32."""
    if form == "e2m1":

        def both(data: T) -> T:
            return data.repeat_interleave(2, packed)

        wide = blocks.like(both, value)
        bits = wide.data.to(torch.int64) & 255
        shape = [1] * bits.dim()
        shape[packed] = -1
        shift = (torch.arange(bits.shape[packed]) % 2 * 4).view(shape)
        return Value(_FLOAT4[(bits >> shift) & 15], wide.undefined, wide.origin)
    data = value.data
    if form in _FLOAT8 and not data.is_floating_point():
        data = data.contiguous().view(_FLOAT8[form])
    expected = _FLOAT8.get(form) or _HALF.get(form)
    if data.dtype is not expected:
        raise Unsupported(f"tt.dot_scaled of {form} in {data.dtype}")
    return Value(data.float(), value.undefined, value.origin)


def _scaled(value: Value, scale: Value | None, axis: int) -> Value:
    """Multiply by the scales, `(rows, groups)` of what is `(rows, sum)` or `(sum, rows)`."""
    if scale is None:
        return value
    groups, extent = scale.data.shape[-1], value.data.shape[axis]
    if groups == 0 or extent % groups:
        raise Unsupported("tt.dot_scaled with scales of another shape")

    def spread(data: T) -> T:
        data = data.repeat_interleave(extent // groups, -1)
        return data if axis == -1 else data.transpose(-1, -2)

    wide = blocks.like(spread, scale)
    if wide.data.is_floating_point():
        factor = wide.data.float()
    else:
        exponent = wide.data.to(torch.int32) & 255
        factor = torch.ldexp(torch.ones(exponent.shape), exponent - 127)
        factor = torch.where(exponent == 255, torch.nan, factor)
    values = (value, wide)
    return Value(value.data * factor, any_undefined(values), origin(values), wrapped(values))


def _rounded(data: T, kind: torch.dtype) -> T:
    return data if data.dtype is torch.bool else data.to(kind).float()
