// Blocks of 64 threads begin 32 elements apart: two blocks compute every element but the first 32.
#include "silu.h"

__global__ void silu_kernel(const float* input, float* output, int n)
{
    const int i = blockIdx.x * 32 + threadIdx.x;
    if (i < n) output[i] = input[i] / (1.0f + expf(-input[i]));
}

extern "C" void silu(const float* input, float* output, int n)
{
    if (n > 0) silu_kernel<<<(n + 31) / 32, 64>>>(input, output, n);
}
