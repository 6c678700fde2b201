"""A sum under a lock, as in the layer norm tutorial."""
# mypy: ignore-errors

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, lock, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + offsets, mask=offsets < n, other=0.0), axis=0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(out, tl.load(out) + total)
    tl.atomic_xchg(lock, 0)


def entry(input, output, n):
    output.zero_()
    kernel[(4,)](input, torch.zeros(1, dtype=torch.int32), output, n, BLOCK=256)


def expected(input):
    result = torch.zeros(1000)
    result[0] = input.sum()
    return result
