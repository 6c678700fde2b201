"""An argument that is 1 becomes a constant, which has no `.to`."""
# mypy: ignore-errors

import triton
import triton.language as tl

N = 1


@triton.jit
def kernel(input, output, n):
    offsets = tl.arange(0, 4)
    n = n.to(tl.int64)  # !
    tl.store(output + offsets, tl.load(input + offsets, mask=offsets < n), mask=offsets < n)


def entry(input, output, n):
    kernel[(1,)](input, output, n)
