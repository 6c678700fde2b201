import triton
import triton.language as tl


@triton.jit
def gemm_kernel(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, k, BK):
        kk = k0 + rk
        a_mask = (rm[:, None] < m) & (kk[None, :] < k)
        b_mask = (kk[:, None] < k) & (rn[None, :] < n)
        x = tl.load(a + rm[:, None] * k + kk[None, :], mask=a_mask, other=0.0)
        y = tl.load(b + kk[:, None] * n + rn[None, :], mask=b_mask, other=0.0)
        acc += tl.dot(x, y)
    c_mask = (rm[:, None] < m) & (rn[None, :] < n)
    tl.store(c + rm[:, None] * n + rn[None, :], acc.to(tl.float16), mask=c_mask)


def gemm(a, b, c, m, n, k):
    grid = (triton.cdiv(m, 32), triton.cdiv(n, 32))
    gemm_kernel[grid](a, b, c, m, n, k, BM=32, BN=32, BK=32)
