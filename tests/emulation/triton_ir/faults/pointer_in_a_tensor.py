"""A pointer that the kernel loads from a tensor, past the end of what it points to."""
# mypy: ignore-errors

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(pointers, BLOCK: tl.constexpr):
    x = tl.load(pointers).to(tl.pointer_type(tl.float32))
    out = tl.load(pointers + 1).to(tl.pointer_type(tl.float32))
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + offsets)  # ! out_of_bounds error load None None
    tl.store(out + offsets, value)  # ! out_of_bounds error store None None


def entry(input, output, n):
    pointers = torch.tensor([input.data_ptr(), output.data_ptr()])
    kernel[(triton.cdiv(n, 256),)](pointers, BLOCK=256)
