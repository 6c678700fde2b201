"""Counting by load, add, store: programs lose each other's counts."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, counts, n):
    pid = tl.program_id(0)
    bin = (tl.load(x + pid) > 0).to(tl.int32)
    count = tl.load(counts + bin)  # ! race error load counts 0
    tl.store(counts + bin, count + 1.0)  # ! race error store counts 0


def entry(input, output, n):
    output.zero_()
    kernel[(n,)](input, output, n)


N = 64
