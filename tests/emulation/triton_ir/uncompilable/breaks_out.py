"""A `break`, which the language does not have."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": b}) for b in (256, 512)], key=["n"])
@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    first = 0
    while first < n:
        offsets = first + tl.arange(0, BLOCK)
        mask = offsets < n
        tl.store(out + offsets, tl.load(x + offsets, mask=mask), mask=mask)
        first += BLOCK
        if first >= n:
            break  # !


def entry(input, output, n):
    kernel[(1,)](input, output, n)


def expected(input):
    return input
