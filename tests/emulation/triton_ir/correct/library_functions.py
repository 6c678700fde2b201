"""Functions of the GPU's library by either module, of tensors and of scalars."""
# mypy: ignore-errors

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.language.extra.libdevice import rsqrt


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    value = tl.load(x + offsets, mask=mask, other=0.0)
    size = libdevice.pow(tl.sum(value * value, axis=0) / BLOCK, 0.5)
    wide = libdevice.exp(-value.to(tl.float64)).to(tl.float32)
    result = tl.extra.cuda.libdevice.fast_dividef(value, 1.0 + wide)
    result = libdevice.fma(libdevice.isnan(value).to(tl.float32), size, result)
    tl.store(out + offsets, result * rsqrt(size), mask=mask)


def entry(input, output, n):
    kernel[(1,)](input, output, n, BLOCK=1024)


def expected(input):
    size = (input.square().sum() / 1024).sqrt()
    return torch.nn.functional.silu(input) * size.rsqrt()
