"""Ten thousand programs of many loads each."""
# mypy: ignore-errors

import triton
import triton.language as tl

N = 10_000


@triton.jit
def kernel(x, out, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    total = 0.0
    for i in range(16):
        total += tl.load(x + pid + i * 0)
    tl.store(out + pid, total)


def entry(input, output, n):
    kernel[(n,)](input, output, BLOCK=1)


def expected(input):
    return input * 16
