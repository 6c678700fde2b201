"""A `break` in a kernel that is no variable of its module, beside one that is right."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n), mask=offsets < n)


class Kernels:
    @staticmethod
    @triton.jit
    def kernel(x, out, n, BLOCK: tl.constexpr):
        for first in range(0, n, BLOCK):
            if first > n:
                break  # !
            offsets = first + tl.arange(0, BLOCK)
            tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n), mask=offsets < n)


def entry(input, output, n):
    Kernels.kernel[(1,)](input, output, n, BLOCK=256)
