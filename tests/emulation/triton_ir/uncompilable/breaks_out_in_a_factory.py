"""A `break` in a kernel that only a launch makes."""
# mypy: ignore-errors

import functools

import triton
import triton.language as tl


@functools.cache
def make():
    @triton.jit
    def kernel(x, out, n, BLOCK: tl.constexpr):
        for first in range(0, n, BLOCK):
            if first > n:
                break  # !
            offsets = first + tl.arange(0, BLOCK)
            tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n), mask=offsets < n)

    return kernel


def entry(input, output, n):
    make()[(1,)](input, output, n, BLOCK=256)
