# expect: device=cuda check=performance why="only a GPU measures time"
# Right, and one multiprocessor does the work of all: a single program takes the whole vector.
import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(
    input,  # pointer to cols float32
    weight,  # pointer to cols float32
    output,  # pointer to cols float32
    cols,  # number of elements
    epsilon,  # added under the root
    BLOCK: tl.constexpr,  # elements per step
):
    squares = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, cols, BLOCK):
        offsets = first + tl.arange(0, BLOCK)
        x = tl.load(input + offsets, mask=offsets < cols, other=0.0)
        squares += x * x
    scale = tl.rsqrt(tl.sum(squares, axis=0) / cols + epsilon)
    for first in range(0, cols, BLOCK):
        offsets = first + tl.arange(0, BLOCK)
        mask = offsets < cols
        x = tl.load(input + offsets, mask=mask)
        w = tl.load(weight + offsets, mask=mask)
        tl.store(output + offsets, x * scale * w, mask=mask)


def rms_norm_vector(input, weight, output, cols, epsilon):
    rms_norm_kernel[(1,)](input, weight, output, cols, epsilon, BLOCK=4096)
