# Transpose V4, padded: a tile of the right size, and the right number of warps.
#
# Idea      the compiler pads its shared memory by itself; what is left to choose is how much a
#           program moves, and with how many threads: many bytes per thread, all loads at once.
# Limit     memory: 8 bytes move per element, nothing is computed.
# Expect    close to the time of a copy of the matrix.
# Grade it  grade local transpose --kernel v4_padded --language triton
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
    # TODO(student): about 9 lines
    # 1. Where am I: the tile of this program, and which of its elements exist. Tiles go down the
    #    input: what neighbouring programs store lies side by side.
    # 2. Load. Nothing beyond the matrix.
    # 3. Turn and 4. store: row and column change places, nothing is computed.
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
    # end
