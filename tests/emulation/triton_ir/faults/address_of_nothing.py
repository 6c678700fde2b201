"""A pointer made from a number that is no address."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n):
    pointer = tl.full((), 64, tl.int64).to(tl.pointer_type(tl.float32))
    value = tl.load(pointer)  # ! out_of_bounds error load None None
    tl.store(out + tl.program_id(0), value)


def entry(input, output, n):
    kernel[(n,)](input, output, n)


N = 4
