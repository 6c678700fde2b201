"""Lanes of one program store the same value to one element."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i // 2, i // 2 * 1.0)  # ! race warning store out 0


def entry(input, output, n):
    kernel[(4,)](output, BLOCK=16)
