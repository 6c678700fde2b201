"""Accesses whose requests can be counted by hand for 4 warps; the lines say how many."""
# mypy: ignore-errors

import triton
import triton.language as tl

N = 1024


@triton.jit
def packed(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    # 256 floats are 2 a thread; 4 programs
    value = tl.load(x + offsets, mask=mask)  # ! load of 8 requests 16 sectors 128 ideal 128
    tl.store(out + offsets, value, mask=mask)  # ! store of 8 requests 16 sectors 128 ideal 128


@triton.jit
def cut(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # 1001 is no multiple of 16: each thread loads its 2 floats one by one, of 8 sectors half each
    mask = offsets < n  # the last warp has 41 of 64 floats: 21 of one kind, 20 of the other
    value = tl.load(x + offsets, mask=mask)  # ! load of 4 requests 32 sectors 251 ideal 126
    tl.store(out + offsets, value, mask=mask)  # ! store of 4 requests 32 sectors 251 ideal 126


@triton.jit
def strided(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    # 64 floats, 32 bytes from one to the next: a sector each; two of four warps do it again
    value = tl.load(x + offsets * 8)  # ! load of 4 requests 4 sectors 128 ideal 16
    tl.store(out + offsets, value)  # ! store of 4 requests 2 sectors 8 ideal 8


@triton.jit
def shifted(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    # 64 floats that begin 4 bytes into a sector: one sector more for each warp
    value = tl.load(x + offsets + 1)  # ! load of 4 requests 4 sectors 20 ideal 16
    tl.store(out + BLOCK - 1 - offsets, value)  # ! store of 4 requests 2 sectors 8 ideal 8


@triton.jit
def repeated(x, out, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    # each of 4 programs loads the same 64 floats, and each of them twice over
    value = tl.load(x + tl.arange(0, BLOCK) // 2)  # ! load of 4 requests 16 sectors 32 ideal 32
    tl.store(out + pid, tl.sum(value, axis=0))  # ! store of 4 requests 4 sectors 4 ideal 4


@triton.jit
def column(x, out, TILE: tl.constexpr):
    r, c = tl.arange(0, TILE)[:, None], tl.arange(0, TILE)[None, :]
    # 16 rows of 16 floats, 40 apart: a warp has 4 rows, of 2 sectors
    tile = tl.load(x + r * 40 + c)  # ! load of 8 requests 4 sectors 32 ideal 32
    # columns first, 16 apart: the tile's 1024 bytes are packed
    tl.store(out + c * 16 + r, tile)  # ! store of 8 requests 4 sectors 32 ideal 32


@triton.jit
def counted(x, out, BLOCK: tl.constexpr):
    # 128 lanes add to one element
    tl.atomic_add(out + tl.arange(0, BLOCK) * 0, 1.0)  # ! atomic of 4 requests 4 sectors 4 ideal 4


@triton.jit
def alone(x, out):
    # a scalar is loaded by all threads, and stored by one
    value = tl.load(x)  # ! load of 4 requests 4 sectors 4 ideal 4
    tl.store(out, value)  # ! store of 4 requests 1 sectors 1 ideal 1


def entry(input, output, n):
    packed[(4,)](input, output, n, BLOCK=256)
    cut[(4,)](input, output, n - 23, BLOCK=256)
    strided[(1,)](input, output, BLOCK=64)
    shifted[(1,)](input, output, BLOCK=64)
    repeated[(4,)](input, output, BLOCK=128)
    column[(1,)](input, output, TILE=16)
    output.zero_()
    counted[(1,)](input, output, BLOCK=128)
    alone[(1,)](input, output)
