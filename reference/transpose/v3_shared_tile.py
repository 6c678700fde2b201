# Transpose V3, shared tile: a program per tile.
#
# Idea      a program owns a tile that is as long as it is wide. The compiler sees that loads run
#           along rows and stores along columns, and turns the tile in shared memory in between.
# Limit     small tiles: 4 KiB a program leave little on its way to memory at a time.
# Expect    faster than torch.
# Grade it  grade local transpose --kernel v3_shared_tile --language triton
import triton
import triton.language as tl


@triton.jit
def transpose_kernel(
    input,  # pointer to (rows, cols) float32, row-major
    output,  # pointer to (cols, rows) float32, row-major
    rows,  # number of rows of the input
    cols,  # number of columns of the input
    ROWS: tl.constexpr,  # rows of a tile, a power of two
    COLS: tl.constexpr,  # columns of a tile, a power of two
):
    """output[col, row] = input[row, col] for this program's tile."""
    # TODO(student): about 8 lines
    # 1. Where am I: the tile of this program, and which of its elements exist.
    tiles_across = tl.cdiv(cols, COLS)
    first_row = (tl.program_id(0) // tiles_across).to(tl.int64) * ROWS
    first_col = (tl.program_id(0) % tiles_across).to(tl.int64) * COLS
    row = first_row + tl.arange(0, ROWS)[:, None]
    col = first_col + tl.arange(0, COLS)[None, :]
    mask = (row < rows) & (col < cols)

    # 2. Load. Nothing beyond the matrix.
    x = tl.load(input + row * cols + col, mask=mask)

    # 3. Turn and 4. store: row and column change places, nothing is computed.
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
    # A program per tile, rounded up both ways. A grid of none is an error.
    ROWS, COLS = 32, 32  # both ways 128 bytes side by side: one request of a warp
    if rows > 0 and cols > 0:
        grid = (triton.cdiv(rows, ROWS) * triton.cdiv(cols, COLS),)
        transpose_kernel[grid](input, output, rows, cols, ROWS=ROWS, COLS=COLS)
    # end
