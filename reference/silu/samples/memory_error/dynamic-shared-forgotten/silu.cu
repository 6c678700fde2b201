// expect: kind=out_of_bounds line=11 cpu=error gpu=memcheck
// The size of the tile is the launch's third argument, and the launch has only two.
#include "silu.h"

constexpr int BLOCK = 256;  // threads per block

__global__ void silu_kernel(const float* input, float* output, int n)
{
    extern __shared__ float tile[];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) tile[threadIdx.x] = input[i];
    __syncthreads();
    if (i >= n) return;
    const float x = tile[threadIdx.x];
    output[i] = x / (1.0f + expf(-x));
}

extern "C" void silu(const float* input, float* output, int n)
{
    const int blocks = (n + BLOCK - 1) / BLOCK;
    silu_kernel<<<blocks, BLOCK>>>(input, output, n);
}
