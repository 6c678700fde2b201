"""A scalar comparison decides what an element that was not loaded cannot change."""
# mypy: ignore-errors

import torch
import triton
import triton.language as tl

N = 65


@triton.jit
def kernel(input, output, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(input + i, mask=i < n - 1)  # the last element is not loaded
    positive = (n > 0) | (x > 0)
    tl.store(output + i, tl.where(positive, 1.0, 0.0), mask=i < n)


def entry(input, output, n):
    kernel[(1,)](input, output, n, BLOCK=128)


def expected(input):
    return torch.ones_like(input)
