"""Partial sums in scratch memory, added up by a second kernel."""
# mypy: ignore-errors

import torch
import triton
import triton.language as tl


@triton.jit
def partial_sums(x, partial, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + offsets, mask=offsets < n, other=0.0), axis=0)
    tl.store(partial + tl.program_id(0), total)


@triton.jit
def spread(x, partial, out, n, BLOCK: tl.constexpr):
    total = tl.sum(tl.load(partial + tl.arange(0, 4)), axis=0)
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) - total, mask=mask)


def entry(input, output, n):
    partial = torch.empty_like(input[:4])
    partial_sums[(4,)](input, partial, n, BLOCK=256)
    spread[(4,)](input, partial, output, n, BLOCK=256)


def expected(input):
    return input - input.sum()
