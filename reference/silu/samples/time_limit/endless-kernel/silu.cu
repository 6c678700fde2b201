// Waits for a flag that nobody sets.
#include "silu.h"

constexpr int BLOCK = 256;  // threads per block

__global__ void silu_kernel(const float* input, float* output, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    const volatile float* const flag = input;
    while (flag[i] != 12345.0f) {
    }
}

extern "C" void silu(const float* input, float* output, int n)
{
    const int blocks = (n + BLOCK - 1) / BLOCK;
    silu_kernel<<<blocks, BLOCK>>>(input, output, n);
}
