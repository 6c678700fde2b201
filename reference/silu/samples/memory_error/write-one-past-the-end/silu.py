# expect: kind=out_of_bounds line=16 cpu=error gpu=memcheck
# The mask of the store lets n itself through: <= where < is meant.
import triton
import triton.language as tl


@triton.jit
def silu_kernel(
    input,  # pointer to n float32
    output,  # pointer to n float32
    n,  # number of elements
    BLOCK: tl.constexpr,  # elements per program
):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(input + offsets, mask=offsets < n, other=0.0)
    tl.store(output + offsets, x / (1.0 + tl.exp(-x)), mask=offsets <= n)


def silu(input, output, n):
    BLOCK = 256
    silu_kernel[(triton.cdiv(n, BLOCK),)](input, output, n, BLOCK=BLOCK)
