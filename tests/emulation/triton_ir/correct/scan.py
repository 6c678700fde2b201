"""Running sums, a block at a time."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    before = 0.0
    for first in tl.range(0, n, BLOCK):
        offsets = first + tl.arange(0, BLOCK)
        value = tl.load(x + offsets, mask=offsets < n, other=0.0)
        tl.store(out + offsets, tl.cumsum(value, axis=0) + before, mask=offsets < n)
        before += tl.sum(value, axis=0)


def entry(input, output, n):
    kernel[(1,)](input, output, n, BLOCK=256)


def expected(input):
    return input.cumsum(0)
