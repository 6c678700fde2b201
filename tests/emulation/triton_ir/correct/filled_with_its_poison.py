"""torch fills the output with the value that it was poisoned with."""
# mypy: ignore-errors

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    value = tl.load(out + offsets, mask=mask, other=0)
    tl.store(out + offsets, value + 1, mask=mask)


def entry(input, output, n):
    numbers = output.view(torch.int32)
    numbers.fill_(-1)
    kernel[(4,)](numbers, n, BLOCK=256)


def expected(input):
    return torch.zeros(1000)
