"""Bytes are read as 32-bit numbers from an odd address."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n):
    pid = tl.program_id(0)
    bytes = x.to(tl.pointer_type(tl.int8)) + 1
    words = bytes.to(tl.pointer_type(tl.float32))
    value = tl.load(words + pid)  # ! misaligned error load x 0
    tl.store(out + pid, value)


def entry(input, output, n):
    kernel[(8,)](input, output, n)
