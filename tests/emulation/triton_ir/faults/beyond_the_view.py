"""The row passed in ends before the storage does."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(row, out, cols, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    value = tl.load(row + offsets)  # ! out_of_bounds error load row 127
    tl.store(out + offsets, value, mask=offsets < cols)


def entry(input, output, n):
    matrix, result = input.view(10, 100), output.view(10, 100)
    for row in range(10):
        kernel[(1,)](matrix[row], result[row], 100, BLOCK=128)


def expected(input):
    return input
