"""The second program reads what the first released, by atomic load and store where they exist."""
# mypy: ignore-errors

import torch
import triton
import triton.language as tl

if hasattr(tl, "atomic_load"):

    @triton.jit
    def release(flag):
        tl.atomic_store(flag, 1, sem="release")

    @triton.jit
    def acquire(flag):
        return tl.atomic_load(flag, sem="acquire")

else:

    @triton.jit
    def release(flag):
        tl.atomic_xchg(flag, 1, sem="release")

    @triton.jit
    def acquire(flag):
        return tl.atomic_add(flag, 0, sem="acquire")


@triton.jit
def kernel(x, flag, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    if tl.program_id(0) == 0:
        tl.store(out + offsets, tl.load(x + offsets, mask=mask), mask=mask)
        release(flag)
    else:
        ready = acquire(flag)
        if ready == 1:
            tl.store(out + offsets, tl.load(out + offsets, mask=mask) + 1, mask=mask)


def entry(input, output, n):
    flag = torch.zeros(1, dtype=torch.int32)
    kernel[(2,)](input, flag, output, n, BLOCK=1024)


def expected(input):
    return input + 1
