// The usual register tile: 8 x 8 neighbouring elements per thread, without float4 or padding. All
// accesses of shared memory and all stores are one by one.
#include "gemm.h"

constexpr int BM = 128, BN = 128, BK = 8;
constexpr int TM = 8, TN = 8;
constexpr int THREADS = BM / TM * (BN / TN);

__global__ void __launch_bounds__(THREADS)
gemm_kernel(const float* a, const float* b, float* c, int m, int n, int k)
{
    __shared__ float As[BM][BK];
    __shared__ float Bs[BK][BN];
    const int first_row = blockIdx.y * BM, first_col = blockIdx.x * BN;
    const int x = threadIdx.x % (BN / TN), y = threadIdx.x / (BN / TN);
    float sum[TM][TN] = {}, a_part[TM], b_part[TN];

    for (int first = 0; first < k; first += BK) {
        for (int i = threadIdx.x; i < BM * BK; i += THREADS) {
            const int row = first_row + i / BK, p = first + i % BK;
            As[i / BK][i % BK] = row < m && p < k ? a[static_cast<long long>(row) * k + p] : 0.0f;
        }
        for (int i = threadIdx.x; i < BK * BN; i += THREADS) {
            const int p = first + i / BN, col = first_col + i % BN;
            Bs[i / BN][i % BN] = p < k && col < n ? b[static_cast<long long>(p) * n + col] : 0.0f;
        }
        __syncthreads();
        for (int p = 0; p < BK; ++p) {
            for (int i = 0; i < TM; ++i) a_part[i] = As[y * TM + i][p];
            for (int j = 0; j < TN; ++j) b_part[j] = Bs[p][x * TN + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sum[i][j] += a_part[i] * b_part[j];
        }
        __syncthreads();
    }

    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) {
            const int row = first_row + y * TM + i, col = first_col + x * TN + j;
            if (row < m && col < n) c[static_cast<long long>(row) * n + col] = sum[i][j];
        }
}

extern "C" void gemm(const float* a, const float* b, float* c, int m, int n, int k)
{
    if (m <= 0 || n <= 0) return;
    const dim3 grid((n - 1) / BN + 1, (m - 1) / BM + 1);
    gemm_kernel<<<grid, THREADS>>>(a, b, c, m, n, k);
}
