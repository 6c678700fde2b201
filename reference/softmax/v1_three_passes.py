# Softmax V1, three passes: the largest of a row, the sum of the powers, the quotients.
#
# Idea      a program for each row; exp(x - largest) is at most 1, so that nothing overflows.
# Limit     memory: a row is read three times and written once.
# Expect    twice the least traffic, as far as the cache does not keep the row.
# Grade it  grade local softmax --kernel v1_three_passes --language triton
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(
    x,  # pointer to (rows, cols) float32, row-major
    y,  # pointer to (rows, cols) float32, to be written
    cols,  # columns
    BLOCK: tl.constexpr,  # columns per step, a power of two
):
    """One row."""
    # TODO(student): about 17 lines
    # 1. Where am I: where this program's row begins.
    row = tl.program_id(0).to(tl.int64) * cols
    columns = tl.arange(0, BLOCK)
    # 2. The largest element of the row: first of each place in a step, then of all.
    running = tl.full([BLOCK], float("-inf"), tl.float32)
    for first in range(0, cols, BLOCK):
        mask = first + columns < cols
        values = tl.load(x + row + first + columns, mask=mask, other=float("-inf"))
        running = tl.maximum(running, values)
    largest = tl.max(running, axis=0)
    # 3. The sum of exp(x - largest).
    total = 0.0
    for first in range(0, cols, BLOCK):
        mask = first + columns < cols
        values = tl.load(x + row + first + columns, mask=mask, other=float("-inf"))
        total += tl.sum(tl.exp(values - largest), axis=0)
    # 4. The quotients.
    for first in range(0, cols, BLOCK):
        mask = first + columns < cols
        values = tl.load(x + row + first + columns, mask=mask, other=float("-inf"))
        tl.store(y + row + first + columns, tl.exp(values - largest) / total, mask=mask)
    # end


def softmax(
    x,  # (rows, cols) float32 tensor, to be read
    y,  # (rows, cols) float32 tensor, to be written
    rows,  # rows
    cols,  # columns
):
    """Launch the kernel; the result goes into `y`, nothing is returned."""
    # TODO(student): about 2 lines
    # A program for each row.
    BLOCK = 1024
    softmax_kernel[(rows,)](x, y, cols, BLOCK=BLOCK)
    # end
