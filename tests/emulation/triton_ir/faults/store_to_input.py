"""The result overwrites the input."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    value = tl.load(x + offsets, mask=mask) * 2
    tl.store(x + offsets, value, mask=mask)  # ! out_of_bounds error store x 0
    tl.store(out + offsets, value, mask=mask)


def entry(input, output, n):
    kernel[(triton.cdiv(n, 256),)](input, output, n, BLOCK=256)


def expected(input):
    return input * 2
