// Threads without an element leave before the barrier: a barrier waits for those that are left.
#include "silu.h"

constexpr int BLOCK = 256;  // threads per block

__global__ void silu_kernel(const float* input, float* output, int n)
{
    __shared__ float tile[BLOCK];
    const int first = blockIdx.x * BLOCK;
    const int count = min(BLOCK, n - first);
    const int mine = threadIdx.x;
    if (mine >= count) return;
    tile[mine] = input[first + mine];
    __syncthreads();
    const float x = tile[count - 1 - mine];
    output[first + count - 1 - mine] = x / (1.0f + expf(-x));
}

extern "C" void silu(const float* input, float* output, int n)
{
    const int blocks = (n + BLOCK - 1) / BLOCK;
    silu_kernel<<<blocks, BLOCK>>>(input, output, n);
}
