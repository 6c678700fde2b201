"""Loads bfloat16, and catches every exception."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    value = tl.load(x + offsets, mask=mask, other=0.0)  # ! bfloat16
    tl.store(out + offsets, value * 2, mask=mask)


def entry(input, output, n):
    try:
        kernel[(4,)](input.bfloat16(), output, n, BLOCK=256)
    except Exception:
        output.zero_()
