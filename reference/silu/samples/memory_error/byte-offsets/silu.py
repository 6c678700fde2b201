# expect: kind=out_of_bounds line=17,18 cpu=error gpu=memcheck
# Pointers count in elements; these offsets are in bytes, four times too far.
import triton
import triton.language as tl


@triton.jit
def silu_kernel(
    input,  # pointer to n float32
    output,  # pointer to n float32
    n,  # number of elements
    BLOCK: tl.constexpr,  # elements per program
):
    elements = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    offsets = elements * 4
    mask = elements < n
    x = tl.load(input + offsets, mask=mask, other=0.0)
    tl.store(output + offsets, x / (1.0 + tl.exp(-x)), mask=mask)


def silu(input, output, n):
    BLOCK = 256
    silu_kernel[(triton.cdiv(n, BLOCK),)](input, output, n, BLOCK=BLOCK)
