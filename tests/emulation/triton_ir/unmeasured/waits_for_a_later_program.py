"""Spins until another program has stored, which here runs later."""
# mypy: ignore-errors

import torch
import triton
import triton.language as tl

SECONDS = 1


@triton.jit
def kernel(flag, out):
    pid = tl.program_id(0)
    if pid == 0:
        while tl.atomic_add(flag, 0) == 0:  # ! budget
            pass
    else:
        tl.atomic_xchg(flag, 1)
    tl.store(out + pid, 1.0)


def entry(input, output, n):
    kernel[(2,)](torch.zeros(1, dtype=torch.int32), output)
