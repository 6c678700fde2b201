// expect: kind=race line=13,16 cpu=error gpu=racecheck:warning why="within one warp racecheck only warns"
// Lanes of a warp swap elements through shared memory and trust that they run in step.
#include "silu.h"

constexpr int BLOCK = 32;  // threads per block: one warp

__global__ void silu_kernel(const float* input, float* output, int n)
{
    __shared__ float tile[BLOCK];
    const int first = blockIdx.x * BLOCK;
    const int count = min(BLOCK, n - first);
    const int mine = threadIdx.x;
    if (mine < count) tile[mine] = input[first + mine];
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
