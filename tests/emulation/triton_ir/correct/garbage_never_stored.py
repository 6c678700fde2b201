"""Lanes that a load leaves undefined go through arithmetic, and are never stored."""
# mypy: ignore-errors

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    value = tl.load(x + offsets, mask=mask)
    silu = value / (1.0 + tl.exp(-value))
    # Chosen, and decided, without the lanes that are off.
    positive = ((value > 0) & mask).to(tl.int32) + ((value > 0).to(tl.int32) * mask.to(tl.int32))
    total = tl.sum(positive, axis=0) + tl.sum(tl.where(mask, value, 0.0), axis=0) * 0.0
    greatest = tl.max(tl.where(mask, tl.log(tl.abs(value) + 1.0), 0.0), axis=0)
    known = tl.where((total >= 0) & (greatest >= 0), 1.0, 0.0)
    tl.store(out + offsets, silu * known, mask=mask)


def entry(input, output, n):
    kernel[(4,)](input, output, n, BLOCK=256)


def expected(input):
    return torch.nn.functional.silu(input)
