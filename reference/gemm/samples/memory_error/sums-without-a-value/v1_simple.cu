// expect: kind=uninitialized line=21 cpu=error gpu=blind why="initcheck sees global memory only"
// A thread adds to four sums that never got a value; on a GPU they begin with what is in registers.
#include "gemm.h"

constexpr int BLOCK = 16;  // threads per side of a block
constexpr int TN = 4;      // columns of C per thread

__global__ void gemm_kernel(const float* a,  // (m, k) row-major
                            const float* b,  // (k, n) row-major
                            float* c,        // (m, n) row-major
                            int m, int n, int k)
{
    const int row = blockIdx.y * BLOCK + threadIdx.y;
    const int col = (blockIdx.x * BLOCK + threadIdx.x) * TN;
    if (row >= m) return;

    float sum[TN];
    for (int p = 0; p < k; ++p) {
        const float x = a[static_cast<long long>(row) * k + p];
        for (int j = 0; j < TN; ++j)
            if (col + j < n) sum[j] += x * b[static_cast<long long>(p) * n + col + j];
    }

    for (int j = 0; j < TN; ++j)
        if (col + j < n) c[static_cast<long long>(row) * n + col + j] = sum[j];
}

extern "C" void gemm(const float* a, const float* b, float* c, int m, int n, int k)
{
    if (m <= 0 || n <= 0) return;
    const dim3 grid((n - 1) / (BLOCK * TN) + 1, (m - 1) / BLOCK + 1);
    gemm_kernel<<<grid, dim3(BLOCK, BLOCK)>>>(a, b, c, m, n, k);
}
