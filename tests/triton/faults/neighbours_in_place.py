"""A stencil that writes where its neighbours still read."""

import triton
import triton.language as tl


@triton.jit
def kernel(data, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    left = tl.load(
        data + offsets - 1, mask=mask & (offsets > 0), other=0.0
    )  # finding: race error load data 255
    tl.store(data + offsets, left, mask=mask)


def entry(input, output, n):
    output.copy_(input)
    kernel[(triton.cdiv(n, 256),)](output, n, BLOCK=256)
