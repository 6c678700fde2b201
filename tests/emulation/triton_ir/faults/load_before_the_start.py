"""The left neighbour of element 0."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    left = tl.load(x + offsets - 1, mask=mask, other=0.0)  # ! out_of_bounds error load x -1
    tl.store(out + offsets, left, mask=mask)


def entry(input, output, n):
    kernel[(triton.cdiv(n, 256),)](input, output, n, BLOCK=256)
