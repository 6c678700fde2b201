"""A program gives the lock back before its store: nothing orders the store for the next one."""
# mypy: ignore-errors

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, lock, out):
    pid = tl.program_id(0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    total = tl.load(out)  # ! race error load out 0
    tl.atomic_xchg(lock, 0)
    tl.store(out, total + tl.load(x + pid))  # ! race error store out 0


def entry(input, output, n):
    output.zero_()
    kernel[(4,)](input, torch.zeros(1, dtype=torch.int32), output)
