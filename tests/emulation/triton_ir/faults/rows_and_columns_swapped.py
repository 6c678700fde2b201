"""The transpose's store uses the input's row length."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, rows, cols, TILE: tl.constexpr):
    r = tl.program_id(0) * TILE + tl.arange(0, TILE)
    c = tl.program_id(1) * TILE + tl.arange(0, TILE)
    mask = (r[:, None] < rows) & (c[None, :] < cols)
    tile = tl.load(x + r[:, None] * cols + c[None, :], mask=mask, other=0.0)
    # ! out_of_bounds error store out 1255
    tl.store(out + c[None, :] * cols + r[:, None], tile, mask=mask)


def entry(input, output, n):
    rows, cols = 25, 40
    kernel[(triton.cdiv(rows, 16), triton.cdiv(cols, 16))](input, output, rows, cols, TILE=16)
