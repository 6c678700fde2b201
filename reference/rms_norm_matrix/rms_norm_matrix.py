# RMSNorm of each row: output[r][c] = input[r][c] * weight[c] / sqrt(mean(input[r]^2) + epsilon).
#
# Idea      a program keeps its row in registers between the sum and the scaling, so it is read
#           once. Short rows share a program, so that none is too small to be worth a launch.
# Limit     memory: 8 bytes an element; weight is small and stays in the cache. Columns from
#           MAX_BLOCK on do not fit and are read twice.
# Expect    close to the time of a copy of the matrix.
# Grade it  grade local rms_norm_matrix --language triton
import triton
import triton.language as tl

MAX_BLOCK = 16384  # columns that a program holds: 16 warps of 32 threads with 32 registers each
TILE = 1024  # elements per warp, and the fewest per program: 8 accesses of 16 bytes for each lane


@triton.jit
def rms_norm_matrix_kernel(
    input,  # pointer to (rows, cols) float32, row-major
    weight,  # pointer to cols float32
    output,  # pointer to (rows, cols) float32, row-major
    rows,  # number of rows
    cols,  # number of columns
    epsilon,  # float32, added under the root
    ROWS: tl.constexpr,  # rows per program, a power of two
    BLOCK: tl.constexpr,  # columns per step, a power of two
):
    """output[r, c] = input[r, c] * weight[c] / sqrt(mean(input[r]^2) + epsilon), ROWS rows."""
    # TODO(student): about 19 lines
    # 1. Where am I: ROWS rows, of which the last may not exist, and their first BLOCK columns.
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    starts = row.to(tl.int64) * cols  # int32 would wrap at 2**31 elements
    col = tl.arange(0, BLOCK)[None, :]
    mask = (row < rows) & (col < cols)

    # 2. Load. Past the end: zeros, which add nothing.
    x = tl.load(input + starts + col, mask=mask, other=0.0, eviction_policy="evict_first")

    # 3. Compute the scale of each row: over all columns, also those beyond BLOCK.
    total = tl.sum(x * x, axis=1, keep_dims=True)
    for first in range(BLOCK, cols, BLOCK):
        later = first + col
        more = tl.load(input + starts + later, mask=(row < rows) & (later < cols), other=0.0)
        total += tl.sum(more * more, axis=1, keep_dims=True)
    scale = tl.rsqrt(total / cols + epsilon)

    # 4. Store, guarded like the load.
    w = tl.load(weight + col, mask=col < cols)
    tl.store(output + starts + col, x * scale * w, mask=mask)
    for first in range(BLOCK, cols, BLOCK):
        later = first + col
        mask = (row < rows) & (later < cols)
        more = tl.load(input + starts + later, mask=mask)
        w = tl.load(weight + later, mask=later < cols)
        tl.store(output + starts + later, more * scale * w, mask=mask)
    # end


def rms_norm_matrix(
    input,  # (rows, cols) float32 tensor, to be read
    weight,  # (cols) float32 tensor, to be read
    output,  # (rows, cols) float32 tensor, to be written
    rows,  # number of rows
    cols,  # number of columns
    epsilon,  # added to the mean under the root
):
    """Launch the kernel; the result goes into `output`, nothing is returned."""
    # TODO(student): about 7 lines
    # A block as wide as a row, as far as registers go, and as many rows as make up for a short one.
    # As many programs as cover all rows, rounded up. A grid of none is an error.
    BLOCK = min(triton.next_power_of_2(cols), MAX_BLOCK)
    ROWS = max(1, TILE // BLOCK)
    if rows > 0 and cols > 0:
        rms_norm_matrix_kernel[(triton.cdiv(rows, ROWS),)](
            input, weight, output, rows, cols, epsilon,
            ROWS=ROWS, BLOCK=BLOCK, num_warps=max(1, BLOCK // TILE),
        )  # fmt: skip
    # end
