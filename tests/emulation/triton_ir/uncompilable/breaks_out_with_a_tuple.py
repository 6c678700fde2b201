"""A `break` in a kernel that gets its pointers in a tuple."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(arrays, n, BLOCK: tl.constexpr):
    for first in range(0, n, BLOCK):
        if first > n:
            break  # !
        offsets = first + tl.arange(0, BLOCK)
        mask = offsets < n
        tl.store(arrays[1] + offsets, tl.load(arrays[0] + offsets, mask=mask), mask=mask)


def entry(input, output, n):
    kernel[(1,)]((input, output), n, BLOCK=256)
