"""Pointers that the kernel loads from a tensor, as a grouped GEMM does: the buffers are known."""
# mypy: ignore-errors

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(pointers, n, BLOCK: tl.constexpr):
    x = tl.load(pointers).to(tl.pointer_type(tl.float32))
    out = tl.load(pointers + 1).to(tl.pointer_type(tl.float32))
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask), mask=mask)


def entry(input, output, n):
    pointers = torch.tensor([input.data_ptr(), output.data_ptr()])
    kernel[(triton.cdiv(n, 256),)](pointers, n, BLOCK=256)


def expected(input):
    return input
