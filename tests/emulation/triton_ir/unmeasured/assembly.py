"""Inline assembly that reads memory."""
# mypy: ignore-errors

import triton
import triton.language as tl

READ = tl.constexpr("ld.global.f32 $0, [$1];")


@triton.jit
def kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    # ! unsupported
    value = tl.inline_asm_elementwise(READ, "=f,l", [x + offsets], tl.float32, False, 1)
    tl.store(out + offsets, value)


def entry(input, output, n):
    kernel[(1,)](input, output, BLOCK=256)
