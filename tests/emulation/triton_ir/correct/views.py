"""Rows, columns and every other element of larger tensors."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, x_stride, out_stride, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    value = tl.load(x + offsets * x_stride, mask=mask)
    tl.store(out + offsets * out_stride, value, mask=mask)


def entry(input, output, n):
    matrix, result = input.view(10, 100), output.view(100, 10)
    for row in range(10):
        source, target = matrix[row], result[:, row]
        kernel[(1,)](source, target, 100, source.stride(0), target.stride(0), BLOCK=128)
    kernel[(1,)](output[1::2], output[1::2], 500, 2, 2, BLOCK=512)


def expected(input):
    return input.view(10, 100).t().reshape(-1)
