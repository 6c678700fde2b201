# expect: kind=uninitialized line=17 cpu=error gpu=initcheck
# The total is added to before anybody has set it to zero.
import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(
    input,  # pointer to cols float32
    total,  # pointer to one float32
    cols,  # number of elements
    BLOCK: tl.constexpr,  # elements per program
):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(input + offsets, mask=offsets < cols, other=0.0)
    tl.atomic_add(total, tl.sum(x * x, axis=0))


@triton.jit
def scale_kernel(
    input,  # pointer to cols float32
    weight,  # pointer to cols float32
    total,  # pointer to one float32
    output,  # pointer to cols float32
    cols,  # number of elements
    epsilon,  # added under the root
    BLOCK: tl.constexpr,  # elements per program
):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(input + offsets, mask=mask)
    w = tl.load(weight + offsets, mask=mask)
    y = x * w * tl.rsqrt(tl.load(total) / cols + epsilon)
    tl.store(output + offsets, y, mask=mask)


def rms_norm_vector(input, weight, output, cols, epsilon):
    BLOCK = 2048
    grid = (triton.cdiv(cols, BLOCK),)
    total = torch.empty(1, dtype=torch.float32, device=input.device)
    sum_kernel[grid](input, total, cols, BLOCK=BLOCK)
    scale_kernel[grid](input, weight, total, output, cols, epsilon, BLOCK=BLOCK)
