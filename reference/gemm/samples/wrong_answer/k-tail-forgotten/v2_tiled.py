# Takes only whole tiles along k: what is left over is not added.
import triton
import triton.language as tl


@triton.jit
def gemm_kernel(
    a,  # pointer to (m, k) float16, row-major
    b,  # pointer to (k, n) float16, row-major
    c,  # pointer to (m, n) float16, row-major
    m,  # rows of a and c
    n,  # columns of b and c
    k,  # columns of a, rows of b
    BM: tl.constexpr,  # rows of c per program, a power of two, 16 or more
    BN: tl.constexpr,  # columns of c per program, the same
    BK: tl.constexpr,  # depth of a tile, the same
):
    """c[rows, cols] = a[rows, :] @ b[:, cols] for this program's rows and cols."""
    rows = (tl.program_id(0) * BM + tl.arange(0, BM)).to(tl.int64)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)

    total = tl.zeros((BM, BN), dtype=tl.float32)
    for first in range(0, k - BK + 1, BK):
        here = first + depth
        mask = (rows[:, None] < m) & (here[None, :] < k)
        a_tile = tl.load(a + rows[:, None] * k + here[None, :], mask=mask, other=0.0)
        mask = (here[:, None] < k) & (cols[None, :] < n)
        b_tile = tl.load(b + here[:, None].to(tl.int64) * n + cols[None, :], mask=mask, other=0.0)

        total = tl.dot(a_tile, b_tile, total)

    mask = (rows[:, None] < m) & (cols[None, :] < n)
    tl.store(c + rows[:, None] * n + cols[None, :], total.to(tl.float16), mask=mask)


def gemm(
    a,  # (m, k) float16 tensor, to be read
    b,  # (k, n) float16 tensor, to be read
    c,  # (m, n) float16 tensor, to be written
    m,  # rows of a and c
    n,  # columns of b and c
    k,  # columns of a, rows of b
):
    """Launch the kernel; the result goes into `c`, nothing is returned."""
    BM, BN, BK = 64, 64, 32  # 4096 sums: 32 registers a thread of 4 warps
    if m > 0 and n > 0:
        grid = (triton.cdiv(m, BM), triton.cdiv(n, BN))
        gemm_kernel[grid](a, b, c, m, n, k, BM=BM, BN=BN, BK=BK, num_stages=1)
