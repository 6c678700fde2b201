"""A stencil: programs read each other's input, nobody writes it."""
# mypy: ignore-errors

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    left = tl.load(x + offsets - 1, mask=mask & (offsets > 0), other=0.0)
    right = tl.load(x + offsets + 1, mask=offsets + 1 < n, other=0.0)
    tl.store(out + offsets, left + right, mask=mask)


def entry(input, output, n):
    kernel[(triton.cdiv(n, 128),)](input, output, n, BLOCK=128)


def expected(input):
    return torch.nn.functional.pad(input, (1, 0))[:-1] + torch.nn.functional.pad(input, (0, 1))[1:]
