"""An argument that is 1 is no constant where the kernel says so, and is one elsewhere."""
# mypy: ignore-errors

import torch
import triton
import triton.language as tl

N = 1


@triton.jit(do_not_specialize=["n"])
def unspecialized(input, output, n, step):
    offsets = tl.arange(0, 4) * step
    n = n.to(tl.int64)
    tl.store(output + offsets, tl.load(input + offsets, mask=offsets < n), mask=offsets < n)


@triton.jit
def annotated(output, n: tl.int32, scale: tl.float32):
    offsets = tl.arange(0, 4)
    n = n.to(tl.int64)
    y = tl.load(output + offsets, mask=offsets < n, other=0.0)
    tl.store(output + offsets, y * scale, mask=offsets < n)


def entry(input, output, n):
    unspecialized[(1,)](input, output, n, 1)
    annotated[(1,)](output, n, 1)


def expected(input):
    return torch.clone(input)
