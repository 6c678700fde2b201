# The scratch tensor is a view into a larger one, with room on both sides.
import torch
import triton
import triton.language as tl


@triton.jit
def silu_kernel(
    input,  # pointer to n float32
    copy,  # pointer to n float32, scratch
    output,  # pointer to n float32
    n,  # number of elements
    BLOCK: tl.constexpr,  # elements per program
):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(copy + offsets, tl.load(input + offsets, mask=mask), mask=mask)
    x = tl.load(copy + offsets, mask=mask)
    tl.store(output + offsets, x / (1.0 + tl.exp(-x)), mask=mask)


def silu(input, output, n):
    BLOCK = 256
    padded = torch.empty(n + 32, dtype=input.dtype, device=input.device)
    copy = padded[16 : 16 + n]
    silu_kernel[(triton.cdiv(n, BLOCK),)](input, copy, output, n, BLOCK=BLOCK)
