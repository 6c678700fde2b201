"""Bools as arguments are scalars of int1: conditions, masks, and factors of 1 and 0."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, double, negate, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.static_assert(double.dtype == tl.int1)
    value = tl.load(x + offsets, mask=mask & double, other=0.0)
    if double:
        value *= 2
    if not negate:
        value += 1 * double + 3 * negate
    value = tl.where(negate, -value, value * double.to(tl.float32))
    tl.store(out + offsets, value, mask=mask)
    tl.store(out + offsets, 0.0, mask=mask & negate)


def entry(input, output, n):
    kernel[(4,)](input, output, n, n > 0, False, BLOCK=256)


def expected(input):
    return input * 2 + 1
