"""Promises of blocks that do not hold, and two of indexes that wrap round, which do no harm."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    wraps = tl.max_contiguous(tl.multiple_of(lanes % n, BLOCK), BLOCK)
    stays = tl.max_contiguous(tl.where(lanes < n, lanes, 0), BLOCK)
    later = tl.multiple_of(lanes + 1, BLOCK)  # ! misaligned warning load None None
    even = 2 * lanes
    even = tl.max_contiguous(even % n, 4)  # ! misaligned warning load None None
    value = tl.load(x + wraps) + tl.load(x + stays) + tl.load(x + even)
    tl.store(out + later, value, mask=later < n)


def entry(input, output, n):
    output.zero_()
    kernel[(triton.cdiv(n, 256),)](input, output, n, BLOCK=256)
