# expect: kind=race line=17 cpu=error gpu=blind why="racecheck sees shared memory only"
# Pairs of lanes store into one element before the answer goes there.
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
    x = tl.load(input + offsets, mask=mask, other=0.0)
    tl.store(output + offsets - tl.arange(0, BLOCK) // 2, x, mask=mask)
    tl.debug_barrier()
    tl.store(output + offsets, x / (1.0 + tl.exp(-x)), mask=mask)


def silu(input, output, n):
    silu_kernel[(triton.cdiv(n, 1024),)](input, output, n, BLOCK=1024)
