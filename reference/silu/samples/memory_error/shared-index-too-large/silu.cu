// expect: kind=out_of_bounds line=12 cpu=error gpu=memcheck
// The tile has room for a warp and is indexed by the thread's place in the block.
#include "silu.h"

constexpr int BLOCK = 256;  // threads per block
constexpr int TILE = 32;    // one element per lane

__global__ void silu_kernel(const float* input, float* output, int n)
{
    __shared__ float tile[TILE];
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
