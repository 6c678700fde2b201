"""A grid of three dimensions with tiles in three."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, TILE: tl.constexpr):
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)[:, None, None]
    j = tl.program_id(1) * TILE + tl.arange(0, TILE)[None, :, None]
    k = tl.program_id(2) * TILE + tl.arange(0, TILE)[None, None, :]
    mask = (i < 10) & (j < 10) & (k < 10)
    block = tl.load(x + i * 100 + j * 10 + k, mask=mask)
    tl.store(out + k * 100 + j * 10 + i, tl.permute(block, (0, 1, 2)), mask=mask)


def entry(input, output, n):
    kernel[(3, 3, 3)](input, output, TILE=4)


def expected(input):
    return input.view(10, 10, 10).permute(2, 1, 0).reshape(-1)
