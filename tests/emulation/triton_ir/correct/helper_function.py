"""The loads and stores are in a function of their own, in half precision."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def move(x, out, offsets, mask):
    tl.store(out + offsets, tl.load(x + offsets, mask=mask).to(tl.float32), mask=mask)


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    move(x, out, offsets, offsets < n)


def entry(input, output, n):
    kernel[(triton.cdiv(n, 256),)](input.half(), output, n, BLOCK=256)


def expected(input):
    return input.half().float()
