"""A view of the left half of a matrix is written as if it were packed."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, rows, cols, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < rows * cols
    value = tl.load(x + offsets, mask=mask, other=0.0)  # ! out_of_bounds warning load x 50
    tl.store(out + offsets, value, mask=mask)  # ! out_of_bounds error store out 50


def entry(input, output, n):
    left, result = input.view(10, 100)[:, :50], output.view(10, 100)[:, :50]
    kernel[(1,)](left, result, 10, 50, BLOCK=512)
