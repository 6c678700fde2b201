"""A block pointer with its boundary check."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    source = tl.make_block_ptr(x, (n,), (1,), (first,), (BLOCK,), (0,))
    target = tl.make_block_ptr(out, (n,), (1,), (first,), (BLOCK,), (0,))
    value = tl.load(source, boundary_check=(0,), padding_option="zero")
    tl.store(target, value + tl.sum(value, axis=0) * 0, boundary_check=(0,))


@triton.jit
def plain(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + offsets, mask=offsets < n, other=0.0)
    tl.store(out + offsets, value + tl.sum(value, axis=0) * 0, mask=offsets < n)


def entry(input, output, n):
    gone = triton.__version__ >= "3.8"  # from the language
    (plain if gone else kernel)[(triton.cdiv(n, 256),)](input, output, n, BLOCK=256)


def expected(input):
    return input
