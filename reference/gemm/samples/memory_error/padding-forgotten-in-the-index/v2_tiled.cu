// expect: kind=uninitialized line=32 cpu=error gpu=blind why="initcheck sees global memory only"
// Rows of A's tile are padded by one and written so, but read as if they were not.
#include "gemm.h"

constexpr int BM = 32;  // rows of C per block
constexpr int BN = 32;  // columns of C per block: a warp, so that its loads and stores coalesce
constexpr int BK = 32;  // depth of a tile
static_assert(BN % 32 == 0 && BM * BN <= 1024, "whole warps, no more than a block may have");
static_assert(BK == BN && BK == BM, "every thread loads one element of each tile");

__global__ void gemm_kernel(const float* __restrict__ a,  // (m, k) row-major
                            const float* __restrict__ b,  // (k, n) row-major
                            float* __restrict__ c,        // (m, n) row-major
                            int m, int n, int k)
{
    __shared__ float As[BM * (BK + 1)];
    __shared__ float Bs[BK][BN];

    const int row = blockIdx.y * BM + threadIdx.y;
    const int col = blockIdx.x * BN + threadIdx.x;

    float sum = 0.0f;
    for (int first = 0; first < k; first += BK) {
        const int a_col = first + threadIdx.x;
        const int b_row = first + threadIdx.y;
        As[threadIdx.y * (BK + 1) + threadIdx.x] =
            row < m && a_col < k ? a[static_cast<long long>(row) * k + a_col] : 0.0f;
        Bs[threadIdx.y][threadIdx.x] =
            b_row < k && col < n ? b[static_cast<long long>(b_row) * n + col] : 0.0f;
        __syncthreads();

        for (int p = 0; p < BK; ++p) sum += As[threadIdx.y * BK + p] * Bs[p][threadIdx.x];
        __syncthreads();
    }

    if (row < m && col < n) c[static_cast<long long>(row) * n + col] = sum;
}

// Called by the grader, and by main.cu, with device pointers.
extern "C" void gemm(const float* a, const float* b, float* c, int m, int n, int k)
{
    if (m <= 0 || n <= 0) return;
    const dim3 grid((n - 1) / BN + 1, (m - 1) / BM + 1);
    const dim3 block(BN, BM);
    gemm_kernel<<<grid, block>>>(a, b, c, m, n, k);
}
