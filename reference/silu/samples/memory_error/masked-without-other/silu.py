# expect: kind=uninitialized line=20 cpu=error gpu=blind why="the undefined lanes are in registers"
# The sum runs over lanes that the load's mask switches off: without other they are undefined.
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
    sigmoid = 1.0 / (1.0 + tl.exp(-x))
    total = tl.sum(sigmoid, axis=0)
    share = sigmoid / total
    tl.store(output + offsets, x * share * total, mask=mask)


def silu(input, output, n):
    BLOCK = 256
    silu_kernel[(triton.cdiv(n, BLOCK),)](input, output, n, BLOCK=BLOCK)
