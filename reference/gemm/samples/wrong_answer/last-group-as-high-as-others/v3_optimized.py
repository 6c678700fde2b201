# Forgets that the last group may have fewer than GROUP tile rows: some columns are left out.
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
    GROUP: tl.constexpr,  # tile rows that are taken together
    EVEN_K: tl.constexpr,  # whether BK divides k
):
    """c[rows, cols] = a[rows, :] @ b[:, cols] for this program's rows and cols."""
    tiles_m, tiles_n = tl.cdiv(m, BM), tl.cdiv(n, BN)
    group = tl.program_id(0) // (GROUP * tiles_n)
    within = tl.program_id(0) % (GROUP * tiles_n)
    height = GROUP
    rows = (group * GROUP + within % height) * BM + tl.arange(0, BM)
    cols = within // height * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)

    a_tiles = a + (rows % m)[:, None].to(tl.int64) * k + depth[None, :]
    b_tiles = b + depth[:, None].to(tl.int64) * n + (cols % n)[None, :]
    b_step = tl.full((), BK, tl.int64) * n

    total = tl.zeros((BM, BN), dtype=tl.float32)
    for first in range(0, k, BK):
        if EVEN_K:
            a_tile = tl.load(a_tiles)
            b_tile = tl.load(b_tiles)
        else:
            a_tile = tl.load(a_tiles, mask=depth[None, :] < k - first, other=0.0)
            b_tile = tl.load(b_tiles, mask=depth[:, None] < k - first, other=0.0)
        a_tiles += BK
        b_tiles += b_step

        total = tl.dot(a_tile, b_tile, total)

    mask = (rows[:, None] < m) & (cols[None, :] < n)
    c_tile = c + rows[:, None].to(tl.int64) * n + cols[None, :]
    tl.store(c_tile, total.to(tl.float16), mask=mask)


def gemm(
    a,  # (m, k) float16 tensor, to be read
    b,  # (k, n) float16 tensor, to be read
    c,  # (m, n) float16 tensor, to be written
    m,  # rows of a and c
    n,  # columns of b and c
    k,  # columns of a, rows of b
):
    """Launch the kernel; the result goes into `c`, nothing is returned."""
    BM, BN, BK = 128, 128, 64  # with 3 stages 96 KiB of shared memory, what most GPUs have
    if m > 0 and n > 0:
        grid = (triton.cdiv(m, BM) * triton.cdiv(n, BN),)
        tile = {"BM": BM, "BN": BN, "BK": BK, "GROUP": 8, "EVEN_K": k % BK == 0}
        gemm_kernel[grid](a, b, c, m, n, k, **tile, num_warps=8, num_stages=3)
