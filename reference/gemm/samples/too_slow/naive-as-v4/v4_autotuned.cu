// expect: device=cuda check=performance why="only a GPU measures time"
// Right, but straight from memory: V1 under the name of V4.
#include "gemm.h"

constexpr int BM = 32;  // rows of C per block
constexpr int BN = 32;  // columns of C per block: a warp, so that its loads and stores coalesce
static_assert(BN % 32 == 0 && BM * BN <= 1024, "whole warps, no more than a block may have");

__global__ void gemm_kernel(const float* __restrict__ a,  // (m, k) row-major
                            const float* __restrict__ b,  // (k, n) row-major
                            float* __restrict__ c,        // (m, n) row-major
                            int m, int n, int k)
{
    const int row = blockIdx.y * BM + threadIdx.y;
    const int col = blockIdx.x * BN + threadIdx.x;
    if (row >= m || col >= n) return;

    const float* a_row = a + static_cast<long long>(row) * k;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p) {
        sum += a_row[p] * b[static_cast<long long>(p) * n + col];
    }

    c[static_cast<long long>(row) * n + col] = sum;
}

// Called by the grader, and by main.cu, with device pointers.
extern "C" void gemm(const float* a, const float* b, float* c, int m, int n, int k)
{
    if (m <= 0 || n <= 0) return;
    const dim3 grid((n - 1) / BN + 1, (m - 1) / BM + 1);
    const dim3 block(BN, BM);
    gemm_kernel<<<grid, block>>>(a, b, c, m, n, k);
}
