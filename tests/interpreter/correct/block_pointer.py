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


def entry(input, output, n):
    if not hasattr(tl, "make_block_ptr") or triton.__version__ >= "3.8":
        output.copy_(input)  # gone from the language
        return
    kernel[(triton.cdiv(n, 256),)](input, output, n, BLOCK=256)


def expected(input):
    return input
