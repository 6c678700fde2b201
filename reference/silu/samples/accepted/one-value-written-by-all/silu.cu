// All threads write the same count to one place: careless, but the outcome is certain.
#include "silu.h"

constexpr int BLOCK = 256;  // threads per block

__global__ void silu_kernel(const float* input, float* output, int n)
{
    __shared__ int count;
    const int first = blockIdx.x * BLOCK;
    count = min(BLOCK, n - first);
    __syncthreads();
    const int mine = threadIdx.x;
    if (mine >= count) return;
    const float x = input[first + mine];
    output[first + mine] = x / (1.0f + expf(-x));
}

extern "C" void silu(const float* input, float* output, int n)
{
    const int blocks = (n + BLOCK - 1) / BLOCK;
    silu_kernel<<<blocks, BLOCK>>>(input, output, n);
}
