"""One row for all programs, which the pointer leaves with the first step of a row."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, cols, BLOCK: tl.constexpr):
    x += tl.program_id(0) * 1000
    offsets = tl.arange(0, BLOCK)
    value = tl.load(x + offsets, mask=offsets < cols)  # ! out_of_bounds error load x 1099
    tl.store(out + tl.program_id(0) * cols + offsets, value, mask=offsets < cols)


def entry(input, output, n):
    output.zero_()
    kernel[(10,)](input, output, 100, BLOCK=128)
