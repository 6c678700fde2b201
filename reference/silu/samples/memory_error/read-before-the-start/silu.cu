// expect: kind=out_of_bounds line=11 cpu=error gpu=memcheck
// Threads walk from the end to the start; the load has no guard, the store has.
#include "silu.h"

constexpr int BLOCK = 256;  // threads per block

__global__ void silu_kernel(const float* input, float* output, int n)
{
    __shared__ float tile[BLOCK];
    const int i = n - 1 - static_cast<int>(blockIdx.x * BLOCK + threadIdx.x);
    tile[threadIdx.x] = input[i];
    __syncthreads();
    if (i < 0) return;
    const float x = tile[threadIdx.x];
    output[i] = x / (1.0f + expf(-x));
}

extern "C" void silu(const float* input, float* output, int n)
{
    const int blocks = (n + BLOCK - 1) / BLOCK;
    silu_kernel<<<blocks, BLOCK>>>(input, output, n);
}
