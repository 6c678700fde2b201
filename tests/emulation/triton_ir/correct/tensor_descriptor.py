"""A descriptor cuts off what is outside its shape, and fills with zeros."""
# mypy: ignore-errors

import triton
import triton.language as tl

N = 1024


@triton.jit
def kernel(x, out, rows, cols, TILE: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows, cols], [cols, 1], [TILE, TILE])
    target = tl.make_tensor_descriptor(out, [rows, cols], [cols, 1], [TILE, TILE])
    row, col = tl.program_id(0) * TILE, tl.program_id(1) * TILE
    tile = source.load([row, col])
    target.store([row, col], tile + tl.sum(tile) * 0)


def entry(input, output, n):
    kernel[(2, 3)](input, output, 16, 64, TILE=32)


def expected(input):
    return input
