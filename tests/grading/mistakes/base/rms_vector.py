import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(input, total, cols, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(input + offsets, mask=offsets < cols, other=0.0)
    tl.atomic_add(total, tl.sum(x * x))


@triton.jit
def scale_kernel(input, weight, total, output, cols, epsilon, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(input + offsets, mask=mask)
    w = tl.load(weight + offsets, mask=mask)
    rms = tl.sqrt(tl.load(total) / cols + epsilon)
    tl.store(output + offsets, x / rms * w, mask=mask)


def rms_norm_vector(input, weight, output, cols, epsilon):
    total = torch.zeros(1, device=input.device)
    grid = (triton.cdiv(cols, 1024),)
    sum_kernel[grid](input, total, cols, BLOCK=1024)
    scale_kernel[grid](input, weight, total, output, cols, epsilon, BLOCK=1024)
