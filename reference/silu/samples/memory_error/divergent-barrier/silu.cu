// expect: kind=barrier line=15,18 cpu=error gpu=blind why="the kernel never ends: time limit"
// The barrier stands in a branch that not all threads take, and the others go on to the next one.
#include "silu.h"

constexpr int BLOCK = 256;  // threads per block

__global__ void silu_kernel(const float* input, float* output, int n)
{
    __shared__ float tile[BLOCK];
    const int first = blockIdx.x * BLOCK;
    const int count = min(BLOCK, n - first);
    const int mine = threadIdx.x;
    if (mine < count) {
        tile[mine] = input[first + mine];
        __syncthreads();
        tile[mine] = tile[mine] / (1.0f + expf(-tile[mine]));
    }
    __syncthreads();
    const int other = count - 1 - mine;
    if (other >= 0) output[first + other] = tile[other];
}

extern "C" void silu(const float* input, float* output, int n)
{
    const int blocks = (n + BLOCK - 1) / BLOCK;
    silu_kernel<<<blocks, BLOCK>>>(input, output, n);
}
