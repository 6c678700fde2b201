"""A product of int32 wraps round and is used as an address."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, rows, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0) + rows
    start = row * stride
    i = tl.arange(0, BLOCK)
    # A hash may wrap round: it is no address.
    hashed = (row * 1103515245 + 12345) & 15
    value = tl.load(x + hashed + i)
    tl.store(out + i, value, mask=tl.program_id(0) == 0)
    tl.store(out + start + i, value)  # ! out_of_bounds error store out -2147477296


def entry(input, output, n):
    kernel[(2,)](input, output, 214749, 10000, BLOCK=16)
