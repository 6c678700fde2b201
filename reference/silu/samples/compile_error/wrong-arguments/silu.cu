// The size comes first, the arrays come after it.
#include <cuda_runtime.h>

constexpr int BLOCK = 256;  // threads per block

__global__ void silu_kernel(const float* input, float* output, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    output[i] = input[i] / (1.0f + expf(-input[i]));
}

extern "C" void silu(int n, const float* input, float* output)
{
    const int blocks = (n + BLOCK - 1) / BLOCK;
    silu_kernel<<<blocks, BLOCK>>>(input, output, n);
}
