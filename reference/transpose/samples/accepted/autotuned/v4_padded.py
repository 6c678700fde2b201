# Lets the tuner choose the tile and the number of warps.
import triton
import triton.language as tl


CONFIGS = [
    triton.Config({"ROWS": 32, "COLS": 32}, num_warps=4),
    triton.Config({"ROWS": 64, "COLS": 64}, num_warps=4),
    triton.Config({"ROWS": 64, "COLS": 128}, num_warps=2),
]


@triton.autotune(configs=CONFIGS, key=["rows", "cols"])
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
    def grid(meta):
        return triton.cdiv(cols, meta["COLS"]), triton.cdiv(rows, meta["ROWS"])

    transpose_kernel[grid](input, output, rows, cols)
