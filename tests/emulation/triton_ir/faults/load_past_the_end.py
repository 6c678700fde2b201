"""The last program loads without a mask."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + offsets)  # ! out_of_bounds error load x 1023
    tl.store(out + offsets, value * 2, mask=offsets < n)


def entry(input, output, n):
    kernel[(triton.cdiv(n, 256),)](input, output, n, BLOCK=256)


def expected(input):
    return input * 2
