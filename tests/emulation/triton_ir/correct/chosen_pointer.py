"""One of two tensors, chosen lane by lane."""
# mypy: ignore-errors

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    source = tl.where(offsets % 2 == 0, x + offsets, y + offsets)
    tl.store(out + offsets, tl.load(source, mask=mask), mask=mask)


def entry(input, output, n):
    kernel[(triton.cdiv(n, 256),)](input, -input, output, n, BLOCK=256)


def expected(input):
    return input * torch.tensor([1.0, -1.0]).repeat(500)
