"""A grid that a GPU does not notice."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out):
    pid = tl.program_id(0)
    tl.store(out + pid, tl.load(x + pid))


def entry(input, output, n):
    kernel[(n,)](input, output)  # ! budget


N = 1_000_000
