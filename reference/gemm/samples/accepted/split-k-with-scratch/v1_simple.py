# Four programs share the depth of a tile and add up in float32; a second kernel rounds.
import torch
import triton
import triton.language as tl


@triton.jit
def part_kernel(a, b, scratch, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = (tl.program_id(0) * BM + tl.arange(0, BM)).to(tl.int64)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for first in range(tl.program_id(2) * BK, k, 4 * BK):
        here = first + tl.arange(0, BK)
        mask = (rows[:, None] < m) & (here[None, :] < k)
        a_tile = tl.load(a + rows[:, None] * k + here[None, :], mask=mask, other=0.0)
        mask = (here[:, None] < k) & (cols[None, :] < n)
        b_tile = tl.load(b + here[:, None].to(tl.int64) * n + cols[None, :], mask=mask, other=0.0)
        total = tl.dot(a_tile, b_tile, total)
    mask = (rows[:, None] < m) & (cols[None, :] < n)
    tl.atomic_add(scratch + rows[:, None] * n + cols[None, :], total, mask=mask)


@triton.jit
def round_kernel(scratch, c, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    tl.store(c + offsets, tl.load(scratch + offsets, mask=mask, other=0.0).to(tl.float16), mask=mask)


def gemm(a, b, c, m, n, k):
    scratch = torch.zeros((m, n), dtype=torch.float32, device=c.device)
    grid = (triton.cdiv(m, 64), triton.cdiv(n, 64), 4)
    part_kernel[grid](a, b, scratch, m, n, k, BM=64, BN=64, BK=32)
    round_kernel[(triton.cdiv(m * n, 1024),)](scratch, c, m * n, BLOCK=1024)
