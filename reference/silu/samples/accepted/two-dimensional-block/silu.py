# The elements as a matrix of COLS columns; the last row may have fewer.
import triton
import triton.language as tl


@triton.jit
def silu_kernel(
    input,  # pointer to n float32
    output,  # pointer to n float32
    n,  # number of elements
    ROWS: tl.constexpr,  # rows per program
    COLS: tl.constexpr,  # columns of the matrix
):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, COLS)
    offsets = rows[:, None] * COLS + cols[None, :]
    mask = offsets < n
    x = tl.load(input + offsets, mask=mask)
    tl.store(output + offsets, x / (1.0 + tl.exp(-x)), mask=mask)


def silu(input, output, n):
    ROWS, COLS = 8, 64
    silu_kernel[(triton.cdiv(n, ROWS * COLS),)](input, output, n, ROWS=ROWS, COLS=COLS)
