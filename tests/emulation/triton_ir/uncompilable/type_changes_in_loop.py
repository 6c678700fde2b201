"""A number that is an integer before the loop and a float after it, in a helper."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def total(x, n):
    sum = 0
    for i in range(n):  # !
        sum = sum + tl.load(x + i)
    return sum


@triton.jit
def kernel(x, out, n):
    tl.store(out, total(x, n))


def entry(input, output, n):
    kernel[(1,)](input, output, n)


N = 4
