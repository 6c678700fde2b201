"""A descriptor made on the host, a tuple of tensors, None, numbers of every kind."""
# mypy: ignore-errors

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

N = 1024


@triton.jit
def kernel(source, pair, nothing, one, factor, flag, out, TILE: tl.constexpr, kind: tl.constexpr):
    row = tl.program_id(0) * TILE
    tile = source.load([row, 0])
    r, c = row + tl.arange(0, TILE)[:, None], tl.arange(0, TILE)[None, :]
    offsets = r * TILE + c
    if nothing is None:
        tile += tl.load(pair[0] + offsets) + tl.load(pair[1] + offsets)
    if flag:
        tile *= factor
    tl.store(out + offsets * one, tile.to(kind))


def entry(input, output, n):
    matrix = input.view(32, 32)
    source = TensorDescriptor.from_tensor(matrix, [16, 32])
    source = TensorDescriptor(matrix, [32, 32], [32, 1], [32, 32])
    pair = (input, input * 2)
    kernel[(1,)](source, pair, None, 1, 0.5, 7, output, TILE=32, kind=tl.float32)


def expected(input):
    return input * 2
