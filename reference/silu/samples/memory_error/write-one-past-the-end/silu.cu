// expect: kind=out_of_bounds line=12 cpu=error gpu=memcheck
// The guard lets the thread just past the last element through: > where >= is meant.
#include "silu.h"

constexpr int BLOCK = 256;  // threads per block

__global__ void silu_kernel(const float* input, float* output, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i > n) return;
    const float x = i < n ? input[i] : 0.0f;
    output[i] = x / (1.0f + expf(-x));
}

extern "C" void silu(const float* input, float* output, int n)
{
    const int blocks = (n + BLOCK - 1) / BLOCK;
    silu_kernel<<<blocks, BLOCK>>>(input, output, n);
}
