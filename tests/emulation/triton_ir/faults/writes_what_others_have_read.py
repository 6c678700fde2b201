"""The later program overwrites what all the earlier ones have read."""
# mypy: ignore-errors

import triton
import triton.language as tl

IN_PLACE = True


@triton.jit
def kernel(data, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(data + offsets, mask=offsets < n, other=0.0), axis=0)
    if pid == tl.num_programs(0) - 1:
        tl.store(data + pid, total)  # ! race error store data 3


def entry(input, output, n):
    kernel[(4,)](output, n, BLOCK=1024)
