"""Three configurations, in turn."""
# mypy: ignore-errors

import triton
import triton.language as tl

CALLS = 4


@triton.autotune([triton.Config({"BLOCK": b}, num_warps=4) for b in (32, 64, 256)], key=["n"])
@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) * 3, mask=mask)


def entry(input, output, n):
    kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](input, output, n)


def expected(input):
    return input * 3
