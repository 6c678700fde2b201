"""A million programs, which is no large grid for a GPU."""
# mypy: ignore-errors

import triton
import triton.language as tl

N = 1_000_000


@triton.jit
def kernel(x, out):
    pid = tl.program_id(0)
    tl.store(out + pid, tl.load(x + pid))


def entry(input, output, n):
    kernel[(n,)](input, output)


def expected(input):
    return input
