# expect: check=counters line=22 message="sectors per store request"
# V1 under the name of V3: a block of one row, whose elements the output has far apart.
import triton
import triton.language as tl


@triton.jit
def transpose_kernel(
    input,  # pointer to (rows, cols) float32, row-major
    output,  # pointer to (cols, rows) float32, row-major
    rows,  # number of rows of the input
    cols,  # number of columns of the input
    BLOCK: tl.constexpr,  # elements at a time
):
    """output[col, row] = input[row, col] for this program's row."""
    row = tl.program_id(0).to(tl.int64)

    for first in range(0, cols, BLOCK):
        col = (first + tl.arange(0, BLOCK)).to(tl.int64)
        mask = col < cols
        x = tl.load(input + row * cols + col, mask=mask)
        tl.store(output + col * rows + row, x, mask=mask)


def transpose(input, output, rows, cols):
    if rows > 0 and cols > 0:
        transpose_kernel[(rows,)](input, output, rows, cols, BLOCK=1024)
