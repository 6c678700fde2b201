"""An index computed with the wrong stride lands in no memory at all."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    offsets = first + tl.arange(0, BLOCK)
    mask = offsets < n
    far = offsets * 1000000007
    value = tl.load(x + far, mask=mask, other=0.0)  # ! out_of_bounds error load x 255000001785
    tl.store(out + far, value, mask=mask)  # ! out_of_bounds error store out 255000001785


def entry(input, output, n):
    kernel[(triton.cdiv(n, 256),)](input, output, n, BLOCK=256)
