// Correct, but the CPU does the work: the kernel only moves the numbers to memory that the host
// can access, and back.
#include "silu.h"

#include <cmath>

__global__ void copy_kernel(const float* from, float* to, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[i];
}

extern "C" void silu(const float* input, float* output, int n)
{
    const int blocks = (n + 255) / 256;
    float* x;
    cudaMallocManaged(&x, n * sizeof(float));
    copy_kernel<<<blocks, 256>>>(input, x, n);
    cudaDeviceSynchronize();
    for (int i = 0; i < n; ++i) x[i] = x[i] / (1.0f + std::exp(-x[i]));
    copy_kernel<<<blocks, 256>>>(x, output, n);
    cudaFree(x);
}
