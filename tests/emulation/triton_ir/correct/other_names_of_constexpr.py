"""Constants that are not annotated as `tl.constexpr`, but as the same by another name."""
# mypy: ignore-errors

import triton
from triton import language
from triton.language import constexpr as fixed


@triton.jit
def kernel(x, out, n, BLOCK: language.constexpr, STEP: fixed, TIMES: triton.language.constexpr):
    offsets = (language.program_id(0) * BLOCK + language.arange(0, BLOCK)) * STEP
    mask = offsets < n
    y = language.full((BLOCK,), TIMES, language.float32) * language.load(x + offsets, mask=mask)
    language.store(out + offsets, y, mask=mask)


def entry(input, output, n):
    kernel[(triton.cdiv(n, 256),)](input, output, n, BLOCK=256, STEP=1, TIMES=2.0)


def expected(input):
    return input * 2.0
