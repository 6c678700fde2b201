"""Whoever counts last reads everybody's sum; the counter orders them."""
# mypy: ignore-errors

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, partial, counter, out, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(partial + pid, tl.sum(tl.load(x + offsets, mask=offsets < n, other=0.0), axis=0))
    done = tl.atomic_add(counter, 1)
    if done == tl.num_programs(0) - 1:
        total = tl.sum(tl.load(partial + tl.arange(0, 4)), axis=0)
        all = tl.arange(0, 1024)
        tl.store(out + all, total + tl.zeros((1024,), tl.float32), mask=all < n)


def entry(input, output, n):
    partial, counter = torch.empty(4), torch.zeros(1, dtype=torch.int32)
    kernel[(4,)](input, partial, counter, output, n, BLOCK=256)


def expected(input):
    return input.sum().expand(1000)
