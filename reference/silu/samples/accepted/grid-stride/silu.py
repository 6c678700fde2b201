# Fewer programs than blocks: every program takes several, a whole grid apart.
import triton
import triton.language as tl


@triton.jit
def silu_kernel(
    input,  # pointer to n float32
    output,  # pointer to n float32
    n,  # number of elements
    BLOCK: tl.constexpr,  # elements per program
):
    for first in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        offsets = first + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(input + offsets, mask=mask)
        tl.store(output + offsets, x / (1.0 + tl.exp(-x)), mask=mask)


def silu(input, output, n):
    silu_kernel[(4,)](input, output, n, BLOCK=256)
