"""A function of libdevice makes a NaN of its own out of a load's; it is garbage all the same."""
# mypy: ignore-errors

import triton
import triton.language as tl
from triton.language.extra.libdevice import exp


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    value = tl.load(x + offsets, mask=offsets < n)
    tl.store(out, tl.sum(exp(-value), axis=0))  # ! uninitialized warning store out None


def entry(input, output, n):
    kernel[(1,)](input, output, n, BLOCK=1024)
