"""The kernels of `triton_checks.py`: element-wise, rows, tiles, a matrix product."""
# mypy: ignore-errors
# ruff: noqa: N803 # triton's meta-parameters are in capitals

import torch
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    value = tl.load(x + offsets, mask=mask)
    tl.store(out + offsets, value / (1.0 + tl.exp(-value)), mask=mask)


def silu():
    silu_kernel[(triton.cdiv(VECTOR.numel(), 1024),)](VECTOR, RESULT, VECTOR.numel(), BLOCK=1024)


@triton.jit
def softmax_kernel(x, out, cols, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    start = tl.program_id(0) * cols
    row = tl.load(x + start + offsets, mask=mask, other=-float("inf"))
    row = tl.exp(row - tl.max(row, axis=0))
    tl.store(out + start + offsets, row / tl.sum(row, axis=0), mask=mask)


def row_softmax():
    softmax_kernel[(200,)](VECTOR, RESULT, 781, BLOCK=1024)


@triton.jit
def transpose_kernel(x, out, rows, cols, TILE: tl.constexpr):
    r = tl.program_id(0) * TILE + tl.arange(0, TILE)
    c = tl.program_id(1) * TILE + tl.arange(0, TILE)
    mask = (r[:, None] < rows) & (c[None, :] < cols)
    tile = tl.load(x + r[:, None] * cols + c[None, :], mask=mask)
    tl.store(out + c[None, :] * rows + r[:, None], tile, mask=mask)


def transpose_tile():
    transpose_kernel[(13, 13)](VECTOR, RESULT, 400, 401, TILE=32)


@triton.jit
def gemm_kernel(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for first in range(0, k, BK):
        inner = first + depth
        left_mask = (rows[:, None] < m) & (inner[None, :] < k)
        right_mask = (inner[:, None] < k) & (cols[None, :] < n)
        left = tl.load(a + rows[:, None] * k + inner[None, :], mask=left_mask, other=0.0)
        right = tl.load(b + inner[:, None] * n + cols[None, :], mask=right_mask, other=0.0)
        total = tl.dot(left, right, total)
    mask = (rows[:, None] < m) & (cols[None, :] < n)
    tl.store(c + rows[:, None] * n + cols[None, :], total, mask=mask)


def gemm():
    gemm_kernel[(4, 4)](VECTOR, OTHER, RESULT, 250, 250, 250, BM=64, BN=64, BK=64)


VECTOR = torch.randn(200_003)
OTHER = torch.randn(200_003)
RESULT = torch.zeros(200_003)
CALLS = {
    "silu, 196 programs": silu,
    "row softmax, 200 rows": row_softmax,
    "transpose, 169 tiles": transpose_tile,
    "gemm 250³, 16 tiles": gemm,
}
