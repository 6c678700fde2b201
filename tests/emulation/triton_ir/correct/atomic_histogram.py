"""All programs count into the same bins, atomically."""
# mypy: ignore-errors

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, counts, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    bin = (tl.load(x + offsets, mask=mask, other=0.0) > 0).to(tl.int32)
    tl.atomic_add(counts + bin, 1.0, mask=mask)


def entry(input, output, n):
    output.zero_()
    kernel[(triton.cdiv(n, 128),)](input, output, n, BLOCK=128)


def expected(input):
    counts = torch.zeros(1000)
    counts[0], counts[1] = (input <= 0).sum(), (input > 0).sum()
    return counts
