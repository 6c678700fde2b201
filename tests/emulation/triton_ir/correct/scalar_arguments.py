"""Floats as arguments are scalars of float32, with what else that implies."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, zero, two, BLOCK: tl.constexpr, third=1 / 3):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    value = tl.load(x + offsets, mask=mask, other=third)
    tl.static_assert(third.dtype == tl.float32)
    if zero > 0:
        value = tl.zeros_like(value)
    # With float16, a product has the precision of the argument.
    wide = tl.full((BLOCK,), two, tl.float16) * third
    tl.static_assert(wide.dtype == tl.float32)
    result = value * wide / two + zero.to(tl.float32) + 1.0 / two
    tl.store(out + offsets, result, mask=mask)


def entry(input, output, n):
    kernel[(4,)](input, output, n, 0.0, 2.0, BLOCK=256)


def expected(input):
    return input / 3 + 0.5
