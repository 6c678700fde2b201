"""The block size is computed from the arguments."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["n"])})
@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask), mask=mask)


def entry(input, output, n):
    kernel[(1,)](x=input, out=output, n=n)


def expected(input):
    return input
