# Transpose V2, coalesced: a program per block of rows.
#
# Idea      a program owns ROWS neighbouring rows; elements below one another become neighbours
#           in the output, so that a store fills ROWS * 4 bytes of a sector instead of 4.
# Limit     the stores are still short pieces: a sector of 32 bytes is written in two parts.
# Expect    faster than V1.
# Grade it  grade local transpose --kernel v2_coalesced --language triton
import triton
import triton.language as tl


@triton.jit
def transpose_kernel(
    input,  # pointer to (rows, cols) float32, row-major
    output,  # pointer to (cols, rows) float32, row-major
    rows,  # number of rows of the input
    cols,  # number of columns of the input
    ROWS: tl.constexpr,  # rows per program, a power of two
    COLS: tl.constexpr,  # columns at a time, a power of two
):
    """output[col, row] = input[row, col] for this program's rows."""
    # TODO(student): about 6 lines
    # 1. Where am I: ROWS rows; then COLS columns after another, and which of them exist.
    row = (tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS))[:, None]

    # 2. Load, 3. turn, 4. store: row and column change places, nothing is computed. Neither side
    # goes beyond its matrix.
    for first in range(0, cols, COLS):
        col = (first + tl.arange(0, COLS)).to(tl.int64)[None, :]
        mask = (row < rows) & (col < cols)
        x = tl.load(input + row * cols + col, mask=mask)
        tl.store(output + col * rows + row, x, mask=mask)
    # end


def transpose(
    input,  # (rows, cols) float32 tensor, to be read
    output,  # (cols, rows) float32 tensor, to be written
    rows,  # number of rows of the input
    cols,  # number of columns of the input
):
    """Launch the kernel; the result goes into `output`, nothing is returned."""
    # TODO(student): about 4 lines
    # A program per ROWS rows, rounded up. A grid of none is an error.
    ROWS, COLS = 4, 256  # 4 warps of 32 threads with two 16-byte accesses each
    if rows > 0 and cols > 0:
        grid = (triton.cdiv(rows, ROWS),)
        transpose_kernel[grid](input, output, rows, cols, ROWS=ROWS, COLS=COLS)
    # end
