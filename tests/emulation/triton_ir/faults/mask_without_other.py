"""The sum takes in the lanes that the mask switches off."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    value = tl.load(x + offsets, mask=offsets < n)
    tl.store(out, tl.sum(value, axis=0))  # ! uninitialized warning store out None


def entry(input, output, n):
    kernel[(1,)](input, output, n, BLOCK=1024)


def expected(input):
    return input.sum().expand(1000)
