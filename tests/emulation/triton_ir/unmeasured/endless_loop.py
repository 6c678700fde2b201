"""A kernel that never ends."""
# mypy: ignore-errors

import triton
import triton.language as tl

SECONDS = 1


@triton.jit
def kernel(x, out):
    i = tl.load(x) * 0
    while i < 1:  # ! endless
        i = i * 1
    tl.store(out, i)


def entry(input, output, n):
    kernel[(1,)](input, output)
