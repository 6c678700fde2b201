"""A function of the language imported by its own name."""
# mypy: ignore-errors

import triton
import triton.language as tl
from triton.language import load


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    value = load(x + offsets, mask=mask)
    tl.store(out + offsets, value, mask=mask)


def entry(input, output, n):
    kernel[(4,)](input, output, n, BLOCK=256)


def expected(input):
    return input
