"""Loads bfloat16."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    value = tl.load(x + offsets, mask=mask, other=0.0)
    tl.store(out + offsets, value * 2, mask=mask)


def entry(input, output, n):
    kernel[(4,)](input.bfloat16(), output, n, BLOCK=256)


def expected(input):
    return (input.bfloat16() * 2).float()
