# A sum over the whole block: lanes that are masked off add what `other` says.
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
    negative = tl.sum((x < 0.0).to(tl.int32), axis=0)
    y = x / (1.0 + tl.exp(-x))
    if negative == 0:
        y = x * (1.0 / (1.0 + tl.exp(-x)))
    tl.store(output + offsets, y, mask=mask)


def silu(input, output, n):
    BLOCK = 256
    silu_kernel[(triton.cdiv(n, BLOCK),)](input, output, n, BLOCK=BLOCK)
