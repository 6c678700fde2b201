// expect: message="gave CUDA error" check=correctness
// Rounded down, the number of blocks is 0 for fewer elements than a block has threads.
#include "silu.h"

constexpr int BLOCK = 256;  // threads per block

__global__ void silu_kernel(const float* input, float* output, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    output[i] = input[i] / (1.0f + expf(-input[i]));
}

extern "C" void silu(const float* input, float* output, int n)
{
    silu_kernel<<<n / BLOCK, BLOCK>>>(input, output, n);
}
