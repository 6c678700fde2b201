"""A product of tiles; rows past the edge wrap round and are not stored."""
# mypy: ignore-errors

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = (tl.program_id(0) * BM + tl.arange(0, BM)) % m
    cols = (tl.program_id(1) * BN + tl.arange(0, BN)) % n
    depth = tl.arange(0, BK)
    a_tile = a + rows[:, None] * k + depth[None, :]
    b_tile = b + depth[:, None] * n + cols[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for first in range(tl.cdiv(k, BK)):
        left = tl.load(a_tile, mask=depth[None, :] < k - first * BK, other=0.0)
        right = tl.load(b_tile, mask=depth[:, None] < k - first * BK, other=0.0)
        total = tl.dot(left, right, total)
        a_tile += BK
        b_tile += BK * n
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    col = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (row[:, None] < m) & (col[None, :] < n)
    tl.store(c + row[:, None] * n + col[None, :], total, mask=mask)


def entry(input, output, n):
    a, b = input.view(25, 40), input.view(40, 25)
    output.zero_()
    kernel[(2, 2)](a, b, output[:625], 25, 25, 40, BM=16, BN=16, BK=16)


def expected(input):
    result = torch.zeros(1000)
    result[:625] = (input.view(25, 40) @ input.view(40, 25)).reshape(-1)
    return result
