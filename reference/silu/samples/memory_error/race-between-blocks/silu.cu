// expect: kind=race line=11 cpu=warning gpu=blind why="racecheck sees shared memory only"
// Blocks overlap by one element: block b fills in its right neighbour's first, too.
#include "silu.h"

constexpr int BLOCK = 256;  // threads per block

__global__ void silu_kernel(const float* input, float* output, int n)
{
    const int i = blockIdx.x * (BLOCK - 1) + threadIdx.x;
    if (i >= n) return;
    output[i] = input[i] / (1.0f + expf(-input[i]));
}

extern "C" void silu(const float* input, float* output, int n)
{
    const int blocks = n / (BLOCK - 1) + 1;
    silu_kernel<<<blocks, BLOCK>>>(input, output, n);
}
