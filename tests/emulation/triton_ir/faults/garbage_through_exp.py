"""exp, log and a comparison lose a NaN's tag; what is stored is garbage all the same."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    value = tl.load(x + offsets, mask=offsets < n)
    tl.store(out, tl.sum(tl.exp(-value), axis=0))  # ! uninitialized warning store out None
    positive = tl.where(value > 0, 1.0, 2.0)
    tl.store(out + 1, tl.sum(positive, axis=0))  # ! uninitialized warning store out None
    tile = tl.trans(tl.reshape(tl.log(tl.abs(value) + 1.0), (32, 32)))
    sums = tl.sum(tile * 0.5, axis=0)
    # The last rows of the tile, and only they, came from lanes that were off.
    rows = tl.arange(0, 32)
    tl.store(out + 2 + rows, sums, mask=rows < 31)
    tl.store(out + 2 + rows, sums, mask=rows == 31)  # ! uninitialized warning store out None
    tl.store(out + 40 + offsets, tl.sqrt(value), mask=offsets < 900)


def entry(input, output, n):
    kernel[(1,)](input, output, n, BLOCK=1024)
