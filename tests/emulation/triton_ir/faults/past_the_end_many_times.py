"""All lanes read the one element past the end."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    value = tl.load(x + n + lanes * 0)  # ! out_of_bounds error load x 1000
    tl.store(out + lanes, value)


def entry(input, output, n):
    kernel[(1,)](input, output, n, BLOCK=256)
