"""A program's beginning is no multiple of what tl.multiple_of promises."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    start = tl.multiple_of(tl.program_id(0) * 250, 16)  # ! misaligned warning load None None
    offsets = start + tl.arange(0, BLOCK)
    mask = (offsets < n) & (tl.arange(0, BLOCK) < 250)
    tl.store(out + offsets, tl.load(x + offsets, mask=mask), mask=mask)


def entry(input, output, n):
    kernel[(4,)](input, output, n, BLOCK=256)
