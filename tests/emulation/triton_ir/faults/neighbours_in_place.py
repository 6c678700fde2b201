"""A stencil that writes where its neighbours still read."""
# mypy: ignore-errors

import triton
import triton.language as tl

IN_PLACE = True


@triton.jit
def kernel(data, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    # ! race error load data 255
    left = tl.load(data + offsets - 1, mask=mask & (offsets > 0), other=0.0)
    tl.store(data + offsets, left, mask=mask)


def entry(input, output, n):
    kernel[(triton.cdiv(n, 256),)](output, n, BLOCK=256)
