"""A descriptor whose rows are no multiple of 16 bytes: a GPU refuses it."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, rows, cols, TILE: tl.constexpr):
    # ! misaligned warning load x None
    source = tl.make_tensor_descriptor(x, [rows, cols], [cols, 1], [TILE, TILE])
    # ! misaligned warning load out None
    target = tl.make_tensor_descriptor(out + 1, [rows, cols], [cols + 2, 1], [TILE, TILE])
    target.store([0, 0], source.load([0, 0]))


def entry(input, output, n):
    kernel[(1,)](input, output, 20, 38, TILE=16)
