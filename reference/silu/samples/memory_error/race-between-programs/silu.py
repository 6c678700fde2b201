# expect: kind=race line=19,22 cpu=error gpu=blind why="racecheck sees shared memory only"
# The formula is chosen by the block before, whose result another program has yet to write.
import triton
import triton.language as tl


@triton.jit
def silu_kernel(
    input,  # pointer to n float32
    output,  # pointer to n float32
    n,  # number of elements
    BLOCK: tl.constexpr,  # elements per program
):
    first = tl.program_id(0) * BLOCK
    offsets = first + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(input + offsets, mask=mask, other=0.0)
    y = x / (1.0 + tl.exp(-x))
    left = tl.load(output + first - 1, mask=first > 0, other=0.0)
    if left > 0.0:
        y = x * (1.0 / (1.0 + tl.exp(-x)))
    tl.store(output + offsets, y, mask=mask)


def silu(input, output, n):
    BLOCK = 256
    silu_kernel[(triton.cdiv(n, BLOCK),)](input, output, n, BLOCK=BLOCK)
