// expect: kind=out_of_bounds line=11 cpu=error gpu=memcheck
// The left neighbour of element 0: i is unsigned, and 0 - 1 is 4294967295, 16 GiB away.
#include "silu.h"

constexpr int BLOCK = 256;  // threads per block

__global__ void silu_kernel(const float* input, float* output, int n)
{
    __shared__ float tile[1 + BLOCK];  // the block's elements behind their left neighbour
    const unsigned i = blockIdx.x * BLOCK + threadIdx.x;
    if (threadIdx.x == 0) tile[0] = input[i - 1];
    if (i < n) tile[1 + threadIdx.x] = input[i];
    __syncthreads();
    if (i >= n) return;
    const float x = tile[1 + threadIdx.x];
    output[i] = x / (1.0f + expf(-x));
}

extern "C" void silu(const float* input, float* output, int n)
{
    const int blocks = (n + BLOCK - 1) / BLOCK;
    silu_kernel<<<blocks, BLOCK>>>(input, output, n);
}
