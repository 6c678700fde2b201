# Transpose V1, row-wise: a program per row.
#
# Idea      a program owns one row and walks through it, BLOCK elements at a time.
# Limit     the stores: neighbouring elements of a row go to different rows of the output, each
#           4 bytes into a sector of 32.
# Expect    the slowest rung, slower than torch.
# Grade it  grade local transpose --kernel v1_row_wise --language triton
import triton
import triton.language as tl


@triton.jit
def transpose_kernel(
    input,  # pointer to (rows, cols) float32, row-major
    output,  # pointer to (cols, rows) float32, row-major
    rows,  # number of rows of the input
    cols,  # number of columns of the input
    BLOCK: tl.constexpr,  # elements at a time, a power of two
):
    """output[col, row] = input[row, col] for this program's row."""
    # TODO(student): about 6 lines
    # 1. Where am I: one row; then BLOCK columns after another, and which of them exist.
    # 2. Load, 3. turn, 4. store: row and column change places, nothing is computed. Neither side
    # goes beyond its matrix.
    # end


def transpose(
    input,  # (rows, cols) float32 tensor, to be read
    output,  # (cols, rows) float32 tensor, to be written
    rows,  # number of rows of the input
    cols,  # number of columns of the input
):
    """Launch the kernel; the result goes into `output`, nothing is returned."""
    # TODO(student): about 3 lines
    # A program per row. A grid of none is an error: an empty matrix launches none.
    # end
