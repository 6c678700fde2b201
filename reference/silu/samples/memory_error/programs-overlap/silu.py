# expect: kind=race line=17 cpu=warning gpu=blind why="racecheck sees shared memory only"
# Programs overlap by one element: each fills in its right neighbour's first, too.
import triton
import triton.language as tl


@triton.jit
def silu_kernel(
    input,  # pointer to n float32
    output,  # pointer to n float32
    n,  # number of elements
    BLOCK: tl.constexpr,  # elements per program
):
    offsets = tl.program_id(0) * (BLOCK - 1) + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(input + offsets, mask=mask, other=0.0)
    tl.store(output + offsets, x / (1.0 + tl.exp(-x)), mask=mask)


def silu(input, output, n):
    BLOCK = 256
    silu_kernel[(triton.cdiv(n, BLOCK - 1),)](input, output, n, BLOCK=BLOCK)
