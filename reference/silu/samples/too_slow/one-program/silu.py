# expect: device=cuda check=performance why="only a GPU measures time"
# Right, and one multiprocessor does the work of all: a single program takes the whole array.
import triton
import triton.language as tl


@triton.jit
def silu_kernel(
    input,  # pointer to n float32
    output,  # pointer to n float32
    n,  # number of elements
    BLOCK: tl.constexpr,  # elements per step, a power of two
):
    """output[i] = silu(input[i]) for all elements."""
    for first in range(0, n, BLOCK):
        offsets = first + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(input + offsets, mask=mask)
        tl.store(output + offsets, x / (1 + tl.exp(-x)), mask=mask)


def silu(input, output, n):
    """Launch one program; the result goes into output."""
    silu_kernel[(1,)](input, output, n, BLOCK=1024)
