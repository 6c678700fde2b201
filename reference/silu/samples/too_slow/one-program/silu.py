# expect: device=cuda check=performance why="only a GPU measures time"
# Right, and one multiprocessor does the work of all: a single program takes the whole array.
import triton
import triton.language as tl


@triton.jit
def silu_kernel(input, output, n, BLOCK: tl.constexpr):
    for first in range(0, n, BLOCK):
        offsets = first + tl.arange(0, BLOCK).to(tl.int64)
        x = tl.load(input + offsets, mask=offsets < n)
        tl.store(output + offsets, x / (1.0 + tl.exp(-x)), mask=offsets < n)


def silu(input, output, n):
    if n > 0:
        silu_kernel[(1,)](input, output, n, BLOCK=4096)
