// expect: kind=uninitialized line=10 cpu=error gpu=initcheck
// += where = is meant: nobody said that the output starts at zero.
#include "silu.h"

constexpr int BLOCK = 256;  // threads per block

__global__ void silu_kernel(const float* input, float* output, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) output[i] += input[i] / (1.0f + expf(-input[i]));
}

extern "C" void silu(const float* input, float* output, int n)
{
    const int blocks = (n + BLOCK - 1) / BLOCK;
    silu_kernel<<<blocks, BLOCK>>>(input, output, n);
}
