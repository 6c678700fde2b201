import triton
import triton.language as tl


@triton.jit
def transpose_kernel(input, output, rows, cols, TILE: tl.constexpr):
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    col = tl.program_id(1) * TILE + tl.arange(0, TILE)
    mask = (row[:, None] < rows) & (col[None, :] < cols)
    x = tl.load(input + row[:, None] * cols + col[None, :], mask=mask)
    out_mask = (col[:, None] < cols) & (row[None, :] < rows)
    tl.store(output + col[:, None] * rows + row[None, :], tl.trans(x), mask=out_mask)


def transpose(input, output, rows, cols):
    TILE = 32
    grid = (triton.cdiv(rows, TILE), triton.cdiv(cols, TILE))
    transpose_kernel[grid](input, output, rows, cols, TILE=TILE)
