#include "silu.h"

__global__ void sigmoid_kernel(const float* input, float* sigmoid, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sigmoid[i] = 1.0f / (1.0f + expf(-input[i]));
}

__global__ void multiply_kernel(const float* input, const float* sigmoid, float* output, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) output[i] = input[i] * sigmoid[i];
}

extern "C" void silu(const float* input, float* output, int n)
{
    int blocks = (n + 255) / 256;
    float* sigmoid;
    cudaMalloc(&sigmoid, n * sizeof(float));
    sigmoid_kernel<<<blocks, 256>>>(input, sigmoid, n);
    multiply_kernel<<<blocks, 256>>>(input, sigmoid, output, n);
    cudaFree(sigmoid);
}
