"""Indices loaded under a mask; the lanes that are off are never used."""
# mypy: ignore-errors

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, indices, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    index = tl.load(indices + offsets, mask=mask)
    tl.store(out + offsets, tl.load(x + index, mask=mask), mask=mask)


def entry(input, output, n):
    indices = torch.arange(n - 1, -1, -1)
    kernel[(triton.cdiv(n, 256),)](input, indices, output, n, BLOCK=256)


def expected(input):
    return input.flip(0)
