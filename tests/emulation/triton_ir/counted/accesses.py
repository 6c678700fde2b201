"""Accesses whose bytes and sectors can be counted by hand; the lines say how many."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def packed(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    # 1000 floats are 4000 bytes, 125 sectors; 4 programs
    value = tl.load(x + offsets, mask=mask)  # ! load requests 4 bytes 4000 sectors 125 least 125
    tl.store(out + offsets, value, mask=mask)  # ! store requests 4 bytes 4000 sectors 125 least 125


@triton.jit
def strided(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    # 64 floats, 32 bytes from one to the next: a sector each, where 8 would do
    value = tl.load(x + offsets * 8)  # ! load requests 1 bytes 256 sectors 64 least 8
    tl.store(out + offsets, value)  # ! store requests 1 bytes 256 sectors 8 least 8


@triton.jit
def shifted(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    # 64 floats that begin 4 bytes into a sector: one sector more
    value = tl.load(x + offsets + 1)  # ! load requests 1 bytes 256 sectors 9 least 8
    tl.store(out + BLOCK - 1 - offsets, value)  # ! store requests 1 bytes 256 sectors 8 least 8


@triton.jit
def repeated(x, out, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    # each of 4 programs loads the same 64 floats, and each of them twice over
    # ! load requests 4 bytes 2048 sectors 32 least 32
    value = tl.load(x + tl.arange(0, BLOCK) // 2)
    tl.store(out + pid, tl.sum(value, axis=0))  # ! store requests 4 bytes 16 sectors 4 least 4


@triton.jit
def column(x, out, TILE: tl.constexpr):
    r, c = tl.arange(0, TILE)[:, None], tl.arange(0, TILE)[None, :]
    # 16 rows of 16 floats, 40 apart: 160 bytes from row to row, 2 sectors a row
    tile = tl.load(x + r * 40 + c)  # ! load requests 1 bytes 1024 sectors 32 least 32
    # columns first, 16 apart: the tile's 1024 bytes are packed
    tl.store(out + c * 16 + r, tile)  # ! store requests 1 bytes 1024 sectors 32 least 32


@triton.jit
def counted(x, out, BLOCK: tl.constexpr):
    # 128 lanes add to one element
    # ! atomic requests 1 bytes 512 sectors 1 least 1
    tl.atomic_add(out + tl.arange(0, BLOCK) * 0, 1.0)


def entry(input, output, n):
    packed[(4,)](input, output, n, BLOCK=256)
    strided[(1,)](input, output, BLOCK=64)
    shifted[(1,)](input, output, BLOCK=64)
    repeated[(4,)](input, output, BLOCK=128)
    column[(1,)](input, output, TILE=16)
    output.zero_()
    counted[(1,)](input, output, BLOCK=128)
