# expect: device=cuda check=performance why="only a GPU measures time"
# Right, and in steps of 16 columns: a few bytes are on their way at a time.
import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(
    input,  # pointer to (rows, cols) float32, row-major
    weight,  # pointer to cols float32
    output,  # pointer to (rows, cols) float32, row-major
    cols,  # number of columns
    epsilon,  # added under the root
    BLOCK: tl.constexpr,  # columns per step
):
    start = tl.program_id(0).to(tl.int64) * cols
    squares = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, cols, BLOCK):
        offsets = first + tl.arange(0, BLOCK)
        x = tl.load(input + start + offsets, mask=offsets < cols, other=0.0)
        squares += x * x
    scale = tl.rsqrt(tl.sum(squares, axis=0) / cols + epsilon)
    for first in range(0, cols, BLOCK):
        offsets = first + tl.arange(0, BLOCK)
        mask = offsets < cols
        x = tl.load(input + start + offsets, mask=mask)
        w = tl.load(weight + offsets, mask=mask)
        tl.store(output + start + offsets, x * scale * w, mask=mask)


def rms_norm_matrix(input, weight, output, rows, cols, epsilon):
    rms_norm_kernel[(rows,)](input, weight, output, cols, epsilon, BLOCK=16)
