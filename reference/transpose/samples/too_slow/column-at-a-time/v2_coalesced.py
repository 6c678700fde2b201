# expect: check=counters line=21 message="sectors per load request"
# A program per column: neighbouring elements of its block lie a row apart in the input.
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
    """output[col, row] = input[row, col] for this program's column."""
    col = tl.program_id(0).to(tl.int64)

    for first in range(0, rows, BLOCK):
        row = (first + tl.arange(0, BLOCK)).to(tl.int64)
        mask = row < rows
        x = tl.load(input + row * cols + col, mask=mask)
        tl.store(output + col * rows + row, x, mask=mask)


def transpose(input, output, rows, cols):
    if rows > 0 and cols > 0:
        transpose_kernel[(cols,)](input, output, rows, cols, BLOCK=256)
