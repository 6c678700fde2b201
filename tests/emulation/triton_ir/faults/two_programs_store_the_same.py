"""Blocks overlap by one element; both write the same value there."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * (BLOCK - 1) + tl.arange(0, BLOCK)
    mask = offsets < n
    # ! race warning store out 255
    tl.store(out + offsets, tl.load(x + offsets, mask=mask), mask=mask)


def entry(input, output, n):
    kernel[(triton.cdiv(n, 255),)](input, output, n, BLOCK=256)


def expected(input):
    return input
