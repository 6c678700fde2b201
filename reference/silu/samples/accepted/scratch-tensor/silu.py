# A scratch tensor between two kernels.
import torch
import triton
import triton.language as tl


@triton.jit
def sigmoid_kernel(
    input,  # pointer to n float32
    sigmoid,  # pointer to n float32, scratch
    n,  # number of elements
    BLOCK: tl.constexpr,  # elements per program
):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(input + offsets, mask=mask, other=0.0)
    tl.store(sigmoid + offsets, 1.0 / (1.0 + tl.exp(-x)), mask=mask)


@triton.jit
def multiply_kernel(
    input,  # pointer to n float32
    sigmoid,  # pointer to n float32
    output,  # pointer to n float32
    n,  # number of elements
    BLOCK: tl.constexpr,  # elements per program
):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(input + offsets, mask=mask, other=0.0)
    s = tl.load(sigmoid + offsets, mask=mask, other=0.0)
    tl.store(output + offsets, x * s, mask=mask)


def silu(input, output, n):
    BLOCK = 256
    grid = (triton.cdiv(n, BLOCK),)
    sigmoid = torch.empty(n, dtype=input.dtype, device=input.device)
    sigmoid_kernel[grid](input, sigmoid, n, BLOCK=BLOCK)
    multiply_kernel[grid](input, sigmoid, output, n, BLOCK=BLOCK)
