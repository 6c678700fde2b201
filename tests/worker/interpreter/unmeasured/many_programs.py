"""More programs than can be run; the first few tell how long it would take."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    total = 0.0
    for i in range(16):
        total += tl.load(x + pid + i * 0)
    tl.store(out + pid, total)


def entry(input, output, n):
    kernel[(n,)](input, output, BLOCK=1)  # ! budget


N = 10_000
