"""Lanes of one block add to one element; a maximum over masked lanes has its other."""
# mypy: ignore-errors

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    value = tl.load(x + offsets, mask=mask, other=-float("inf"))
    tl.atomic_max(out + offsets % 2, value, mask=mask)


def entry(input, output, n):
    output.fill_(-100.0)
    kernel[(triton.cdiv(n, 256),)](input, output, n, BLOCK=256)


def expected(input):
    result = torch.full((1000,), -100.0)
    result[:2] = input.view(500, 2).amax(0)
    return result
