// expect: message="gave CUDA error" check=correctness
// A row of the grid for each 4 elements: grid.y is limited to 65,535, grid.x is not.
#include "silu.h"

constexpr int BLOCK = 4;  // threads per block

__global__ void silu_kernel(const float* input, float* output, int n)
{
    const int i = blockIdx.y * BLOCK + threadIdx.x;
    if (i >= n) return;
    output[i] = input[i] / (1.0f + expf(-input[i]));
}

extern "C" void silu(const float* input, float* output, int n)
{
    const dim3 grid(1, (n - 1) / BLOCK + 1);
    silu_kernel<<<grid, BLOCK>>>(input, output, n);
}
