# expect: kind=uninitialized line=16,19 cpu=warning gpu=blind why="the undefined lanes are in registers"
# The total runs over lanes that the load's mask switches off: without other they are undefined.
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
    mask = offsets < n
    x = tl.load(input + offsets, mask=mask)
    total = 2.0 * BLOCK + tl.sum(x / (1.0 + tl.abs(x)), axis=0)
    share = x / total
    tl.store(output + offsets, share / (1.0 + tl.exp(-x)) * total, mask=mask)


def silu(input, output, n):
    BLOCK = 256
    silu_kernel[(triton.cdiv(n, BLOCK),)](input, output, n, BLOCK=BLOCK)
