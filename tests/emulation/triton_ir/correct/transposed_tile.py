"""Tiles go out with their axes exchanged."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, rows, cols, TILE: tl.constexpr):
    r = tl.program_id(0) * TILE + tl.arange(0, TILE)
    c = tl.program_id(1) * TILE + tl.arange(0, TILE)
    tile = tl.load(
        x + r[:, None] * cols + c[None, :], mask=(r[:, None] < rows) & (c[None, :] < cols)
    )
    target = out + c[:, None] * rows + r[None, :]
    tl.store(target, tl.trans(tile), mask=(c[:, None] < cols) & (r[None, :] < rows))


def entry(input, output, n):
    kernel[(2, 3)](input, output, 25, 40, TILE=16)


def expected(input):
    return input.view(25, 40).t().reshape(-1)
