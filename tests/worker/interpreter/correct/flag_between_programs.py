"""The second program reads what the first released, by atomic load and store where they exist."""
# mypy: ignore-errors

import torch
import triton
import triton.language as tl

NEW = hasattr(tl, "atomic_load")


@triton.jit
def kernel(x, flag, out, n, NEW: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    if tl.program_id(0) == 0:
        tl.store(out + offsets, tl.load(x + offsets, mask=mask), mask=mask)
        if NEW:
            tl.atomic_store(flag, 1, sem="release")
        else:
            tl.atomic_xchg(flag, 1, sem="release")
    else:
        if NEW:
            ready = tl.atomic_load(flag, sem="acquire")
        else:
            ready = tl.atomic_add(flag, 0, sem="acquire")
        if ready == 1:
            tl.store(out + offsets, tl.load(out + offsets, mask=mask) + 1, mask=mask)


def entry(input, output, n):
    flag = torch.zeros(1, dtype=torch.int32)
    kernel[(2,)](input, flag, output, n, NEW=NEW, BLOCK=1024)


def expected(input):
    return input + 1
