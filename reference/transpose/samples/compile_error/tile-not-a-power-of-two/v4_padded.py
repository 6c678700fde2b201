# A tile of 48 columns: triton has ranges of a power of two only.
import triton
import triton.language as tl


@triton.jit
def transpose_kernel(
    input,  # pointer to (rows, cols) float32, row-major
    output,  # pointer to (cols, rows) float32, row-major
    rows,  # number of rows of the input
    cols,  # number of columns of the input
    ROWS: tl.constexpr,  # rows of a tile
    COLS: tl.constexpr,  # columns of a tile
):
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    col = tl.program_id(0) * COLS + tl.arange(0, COLS)
    mask = (row[:, None] < rows) & (col[None, :] < cols)
    x = tl.load(input + row[:, None] * cols + col[None, :], mask=mask, other=0.0)
    tl.store(output + col[None, :] * rows + row[:, None], x, mask=mask)


def transpose(input, output, rows, cols):
    ROWS, COLS = 64, 48
    grid = (triton.cdiv(cols, COLS), triton.cdiv(rows, ROWS))
    transpose_kernel[grid](input, output, rows, cols, ROWS=ROWS, COLS=COLS)
