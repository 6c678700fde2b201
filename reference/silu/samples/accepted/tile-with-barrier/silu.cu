// The tile is turned round in shared memory, with the barrier that this needs.
#include "silu.h"

constexpr int BLOCK = 256;  // threads per block

__global__ void silu_kernel(const float* input, float* output, int n)
{
    __shared__ float tile[BLOCK];
    const int first = blockIdx.x * BLOCK;
    const int count = min(BLOCK, n - first);
    const int mine = threadIdx.x;
    if (mine < count) tile[mine] = input[first + mine];
    __syncthreads();
    const int other = count - 1 - mine;
    if (other < 0) return;
    const float x = tile[other];
    output[first + other] = x / (1.0f + expf(-x));
}

extern "C" void silu(const float* input, float* output, int n)
{
    const int blocks = (n + BLOCK - 1) / BLOCK;
    silu_kernel<<<blocks, BLOCK>>>(input, output, n);
}
