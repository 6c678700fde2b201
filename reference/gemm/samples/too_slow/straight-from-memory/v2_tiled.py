# expect: check=counters line=28 message="times the bytes of the arrays"
# Right, but straight from memory: V1 under the name of V2.
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
    BN: tl.constexpr,  # columns of c per program, a power of two
    BK: tl.constexpr,  # depth of a step, a power of two
):
    """c[row, cols] = a[row, :] @ b[:, cols] for this program's row and cols."""
    row = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)

    total = tl.zeros((BN,), dtype=tl.float32)
    for first in range(0, k, BK):
        here = first + depth
        a_part = tl.load(a + row * k + here, mask=here < k, other=0.0)
        mask = (here[:, None] < k) & (cols[None, :] < n)
        b_tile = tl.load(b + here[:, None].to(tl.int64) * n + cols[None, :], mask=mask, other=0.0)

        total += tl.sum(a_part[:, None].to(tl.float32) * b_tile.to(tl.float32), axis=0)

    tl.store(c + row * n + cols, total.to(tl.float16), mask=cols < n)


def gemm(
    a,  # (m, k) float16 tensor, to be read
    b,  # (k, n) float16 tensor, to be read
    c,  # (m, n) float16 tensor, to be written
    m,  # rows of a and c
    n,  # columns of b and c
    k,  # columns of a, rows of b
):
    """Launch the kernel; the result goes into `c`, nothing is returned."""
    BN, BK = 128, 32  # 256 bytes of a row of b: whole sectors; 4096 elements a step, 32 a thread
    if m > 0 and n > 0:
        grid = (m, triton.cdiv(n, BN))
        gemm_kernel[grid](a, b, c, m, n, k, BN=BN, BK=BK)
