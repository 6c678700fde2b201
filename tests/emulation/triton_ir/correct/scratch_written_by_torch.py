"""Scratch from torch.empty, filled by torch's own means."""
# mypy: ignore-errors

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, a, b, c, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    value = tl.load(a + offsets, mask=mask) + tl.load(b + offsets, mask=mask)
    tl.store(out + offsets, value + tl.load(c + offsets, mask=mask), mask=mask)


def entry(input, output, n):
    a, b, c = torch.empty(n), torch.empty_like(input), input.new_empty(n)
    a.zero_()
    torch.mul(input, 2, out=b)
    c.numpy()[:] = 1
    kernel[(triton.cdiv(n, 256),)](input, a, b, c, output, n, BLOCK=256)


def expected(input):
    return input * 2 + 1
