"""Pairs of lanes write to the same element."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    value = tl.load(x + offsets, mask=mask, other=0.0)
    tl.store(out + offsets // 2, value, mask=mask)  # ! race error store out 0


def entry(input, output, n):
    kernel[(4,)](input, output, n, BLOCK=256)
