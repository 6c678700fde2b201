"""A function of the GPU's library, by the module of CUDA."""
# mypy: ignore-errors

import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    value = libdevice.lgamma(tl.load(x + offsets, mask=mask))
    tl.store(out + offsets, value, mask=mask)


def entry(input, output, n):
    kernel[(4,)](input, output, n, BLOCK=256)


def expected(input):
    return input.lgamma()
