"""Blocks overlap by one element, and each writes its own idea of it."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * (BLOCK - 1) + tl.arange(0, BLOCK)
    mask = offsets < n
    value = tl.load(x + offsets, mask=mask) + pid
    tl.store(out + offsets, value, mask=mask)  # ! race error store out 255


def entry(input, output, n):
    kernel[(triton.cdiv(n, 255),)](input, output, n, BLOCK=256)
