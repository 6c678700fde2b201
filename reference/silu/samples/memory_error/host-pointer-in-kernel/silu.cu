// expect: kind=out_of_bounds line=12 cpu=error gpu=memcheck
// A constant is handed to the kernel by its address in the host's memory.
#include "silu.h"

constexpr int BLOCK = 256;  // threads per block

__global__ void silu_kernel(const float* input, float* output, int n, const float* one)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    const float x = input[i];
    output[i] = x / (*one + expf(-x));
}

extern "C" void silu(const float* input, float* output, int n)
{
    const float one = 1.0f;
    const int blocks = (n + BLOCK - 1) / BLOCK;
    silu_kernel<<<blocks, BLOCK>>>(input, output, n, &one);
}
