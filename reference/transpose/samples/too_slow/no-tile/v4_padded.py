# expect: device=cuda check=performance why="only a GPU measures time"
# V1 once more: right, but its stores are scattered.
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
    row = tl.program_id(0)
    for first in range(0, cols, BLOCK):
        col = first + tl.arange(0, BLOCK)
        mask = col < cols
        x = tl.load(input + row * cols + col, mask=mask, other=0.0)
        tl.store(output + col * rows + row, x, mask=mask)


def transpose(input, output, rows, cols):
    BLOCK = 1024
    transpose_kernel[(rows,)](input, output, rows, cols, BLOCK=BLOCK)
