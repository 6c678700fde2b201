"""Kernels in a class, a dict and a list, made by functions, and tuples for arguments."""
# mypy: ignore-errors

from typing import NamedTuple

import torch
import triton
import triton.language as tl


class Arrays(NamedTuple):
    x: torch.Tensor
    out: torch.Tensor
    n: int
    step: int


class Kernels:
    @staticmethod
    @triton.jit
    def kernel(arrays, SHAPE: tl.constexpr):
        offsets = (tl.program_id(0) * SHAPE[0] + tl.arange(0, SHAPE[0])) * arrays.step
        mask = offsets < arrays.n
        tl.store(arrays.out + offsets, tl.load(arrays.x + offsets, mask=mask), mask=mask)


def make():
    @triton.jit
    def kernel(out, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        y = tl.load(out + offsets, mask=offsets < n, other=0.0)
        tl.store(out + offsets, y + 1.0, mask=offsets < n)

    return kernel


def make_when_launched():
    @triton.jit(do_not_specialize=["one"])
    def kernel(out, n, one, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        y = tl.load(out + offsets, mask=offsets < n, other=0.0)
        tl.store(out + offsets, y + one.to(tl.float32), mask=offsets < n)

    return kernel


TABLE = {"all": [make()]}


def entry(input, output, n):
    grid = (triton.cdiv(n, 256),)
    Kernels.kernel[grid](Arrays(input, output, n, 1), SHAPE=(256, None))
    TABLE["all"][0][grid](output, n, BLOCK=256)
    make_when_launched()[grid](output, n, 1, BLOCK=256)


def expected(input):
    return input + 2.0
