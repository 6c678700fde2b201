"""One program resets the sum that the others add to."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, total):
    pid = tl.program_id(0)
    if pid == 0:
        tl.store(total, 0.0)
    tl.atomic_add(total, tl.load(x + pid))  # ! race error atomic total 0


def entry(input, output, n):
    kernel[(n,)](input, output)


N = 16
