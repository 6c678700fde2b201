"""Lanes that a load leaves undefined decide an address, a mask and a branch."""
# mypy: ignore-errors

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, index, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at = tl.load(index + i, mask=i < n)
    value = tl.load(x + at)  # ! uninitialized warning load None None
    tl.store(out + i, value, mask=i < n)
    tl.store(out + i, 1.0, mask=(at >= 0))  # ! uninitialized warning store None None
    # ! uninitialized warning load None None
    if tl.sum(at, axis=0) > 0:
        tl.store(out, 0.0)


def entry(input, output, n):
    kernel[(1,)](input, torch.zeros(20, dtype=torch.int32), output, 20, BLOCK=32)
