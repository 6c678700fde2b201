"""Inline assembly on registers: single instructions, groups of elements, two results, a clock."""
# mypy: ignore-errors

import torch
import triton
import triton.language as tl

BITS = tl.constexpr("""
{   // the sign in a predicate: |x| + 1 where x is negative
    .reg .pred p<2>;
    .reg .f32 t, one;
    mov.f32 one, 0f3F800000;
    setp.lt.f32 p0, $1, 0f00000000;   /* not for { -0 } */
    mov.f32 t, $1;
    @p0 neg.f32 t, t;
    @!p0 sub.f32 t, t, one;
    add.f32 $0, t, one;
}
""")


@triton.jit
def add(a, b):
    return tl.inline_asm_elementwise(
        "add.rn.f32 $0, $1, $2;", "=f,f,f", [a, b], tl.float32, True, 1
    )


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    value = tl.load(x + offsets, mask=mask, other=0.0)
    # |x| + [x < 0], from any type of register that is as wide
    size = tl.inline_asm_elementwise(BITS, "=r,r", [value], tl.float32, True, 1)
    # four bytes of a register: the lower four bits of each in one result, the upper in the other
    octets = (offsets % 256).to(tl.uint8)
    low, high = tl.inline_asm_elementwise(
        "and.b32 $0, $2, 0x0f0f0f0f; lop3.b32 $1, $2, 0xf0f0f0f0, 0, 0xc0;",
        "=r,=r,r", [octets], (tl.uint8, tl.uint8), True, 4,
    )  # fmt: skip
    octets = (low.to(tl.int32) + high.to(tl.int32)).to(tl.float32)
    # halves that change places in each pair: twice leaves them
    half = value.to(tl.float16)
    half = tl.inline_asm_elementwise(
        "prmt.b32 $0, $1, $1, 0x1032;", "=r,r", [half], tl.float16, True, 2
    )
    half = tl.inline_asm_elementwise(
        "prmt.b32 $0, $1, $1, 0x1032;", "=r,r", [half], tl.float16, True, 2
    )
    started = tl.extra.cuda.globaltimer()
    total = tl.reduce(tl.where(mask, 1.0, 0.0), 0, add)
    later = (tl.extra.cuda.globaltimer() >= started).to(tl.float32)
    result = size + octets + half.to(tl.float32) + total + later
    tl.store(out + offsets, result, mask=mask)


def entry(input, output, n):
    kernel[(triton.cdiv(n, 256),)](input, output, n, BLOCK=256)


def expected(input):
    n = input.numel()
    where = torch.arange(n)
    size = input.abs() + (input < 0)
    count = torch.clamp(n - where // 256 * 256, max=256)
    return size + where % 256 + input.half().float() + count + 1
