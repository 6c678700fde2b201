"""A promise about the row length that this size does not keep."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    n = tl.multiple_of(n, 16)  # ! misaligned warning load None None
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask), mask=mask)


def entry(input, output, n):
    kernel[(triton.cdiv(n, 256),)](input, output, n, BLOCK=256)
