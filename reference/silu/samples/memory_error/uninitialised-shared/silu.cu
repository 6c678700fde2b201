// expect: kind=uninitialized line=18 cpu=error gpu=blind why="initcheck sees global memory only"
// Elements are read from the tile in pairs; if n is odd the last one has no second.
#include "silu.h"

constexpr int BLOCK = 256;       // threads per block
constexpr int TILE = 2 * BLOCK;  // elements per block

__global__ void silu_kernel(const float* input, float* output, int n)
{
    __shared__ float2 tile[BLOCK];
    const int first = blockIdx.x * TILE;
    float* const elements = reinterpret_cast<float*>(tile);
    for (int k = threadIdx.x; k < TILE; k += BLOCK)
        if (first + k < n) elements[k] = input[first + k];
    __syncthreads();
    const int i = first + 2 * threadIdx.x;
    if (i >= n) return;
    const float2 x = tile[threadIdx.x];
    output[i] = x.x / (1.0f + expf(-x.x));
    if (i + 1 < n) output[i + 1] = x.y / (1.0f + expf(-x.y));
}

extern "C" void silu(const float* input, float* output, int n)
{
    const int blocks = (n + TILE - 1) / TILE;
    silu_kernel<<<blocks, BLOCK>>>(input, output, n);
}
