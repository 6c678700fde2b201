"""Few programs walk over all the data."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    step = tl.num_programs(0) * BLOCK
    for first in range(tl.program_id(0) * BLOCK, n, step):
        offsets = first + tl.arange(0, BLOCK)
        mask = offsets < n
        tl.store(out + offsets, tl.load(x + offsets, mask=mask) + 1, mask=mask)


def entry(input, output, n):
    kernel[(3,)](input, output, n, BLOCK=64)


def expected(input):
    return input + 1
