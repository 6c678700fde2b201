#include "gemm.h"

__global__ void gemm_kernel(const float* a, const float* b, float* c, int m, int n, int k)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < m && col < n) {
        float sum = 0.0f;
        for (int p = 0; p < k; ++p)
            sum += a[row * k + p] * b[p * n + col];
        c[row * n + col] = sum;
    }
}

extern "C" void gemm(const float* a, const float* b, float* c, int m, int n, int k)
{
    dim3 block(16, 16);
    dim3 grid((n + 15) / 16, (m + 15) / 16);
    gemm_kernel<<<grid, block>>>(a, b, c, m, n, k);
}
