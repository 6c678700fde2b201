"""Inline assembly."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    value = tl.load(x + offsets)
    # ! unsupported
    value = tl.inline_asm_elementwise("add.f32 $0, $1, $1;", "=f,f", [value], tl.float32, True, 1)
    tl.store(out + offsets, value)


def entry(input, output, n):
    kernel[(1,)](input, output, BLOCK=256)
