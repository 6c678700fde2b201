"""The output is an input as well, and worked on where it lies."""
# mypy: ignore-errors

import triton
import triton.language as tl

IN_PLACE = True


@triton.jit
def kernel(data, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    for _ in tl.range(0, 3):
        value = tl.load(data + offsets, mask=mask)
        tl.store(data + offsets, value * 2, mask=mask)


def entry(input, output, n):
    kernel[(triton.cdiv(n, 256),)](output, n, BLOCK=256)


def expected(input):
    return input * 8
