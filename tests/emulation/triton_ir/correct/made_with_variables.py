"""Kernels that use what the functions hold that made them, when loading and when launching."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def plus_one(x):
    return x + 1.0


def make(function, times):
    block = tl.constexpr(256)
    scale = tl.constexpr(times)

    @triton.autotune([triton.Config({"PARTS": parts}) for parts in (1, 2)], key=["n"])
    @triton.jit
    def kernel(x, out, n, PARTS: tl.constexpr):
        for part in tl.static_range(PARTS):
            offsets = (tl.program_id(0) * PARTS + part) * block + tl.arange(0, block)
            mask = offsets < n
            y = function(tl.load(x + offsets, mask=mask, other=0.0)) * scale
            tl.store(out + offsets, y, mask=mask)

    return kernel


KERNEL = make(plus_one, 2.0)
CALLS = 2


def entry(input, output, n):
    grid = (triton.cdiv(n, 256),)
    KERNEL[grid](input, output, n)
    make(plus_one, 1.0)[grid](output, output, n)


def expected(input):
    return (input + 1.0) * 2.0 + 1.0
