#include "silu.h"

__global__ void silu_kernel(const float* input, float* output, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float x = input[i];
        output[i] = x / (1.0f + expf(-x));
    }
}

extern "C" void silu(const float* input, float* output, int n)
{
    int threads = 256;
    int blocks = (n + threads - 1) / threads;
    silu_kernel<<<blocks, threads>>>(input, output, n);
}
