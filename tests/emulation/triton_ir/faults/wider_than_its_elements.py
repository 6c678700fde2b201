"""A pointer to bytes is cast to one of numbers, and indexed as before."""
# mypy: ignore-errors

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(octets, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    numbers = octets.to(tl.pointer_type(tl.int32))
    value = tl.load(numbers + offsets, mask=offsets < n)  # ! out_of_bounds error load octets 1020
    tl.store(out + offsets, value.to(tl.float32), mask=offsets < n)


def entry(input, output, n):
    octets = torch.zeros(n, dtype=torch.uint8, device=input.device)
    kernel[(triton.cdiv(n, 256),)](octets, output, n, BLOCK=256)
