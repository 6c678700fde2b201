# A program per tile: whole rows are read, parts of rows written.
import triton
import triton.language as tl


@triton.jit
def turn_kernel(input, output, rows, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = (row < rows)[:, None] & (col < cols)[None, :]
    tile = tl.load(input + row[:, None] * cols + col[None, :], mask=mask)
    tl.store(output + col[None, :] * rows + row[:, None], tile, mask=mask)


def turn(input, output, rows, cols):
    turn_kernel[(triton.cdiv(rows, 32), triton.cdiv(cols, 32))](input, output, rows, cols, BLOCK=32)
