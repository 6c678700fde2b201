// expect: kind=leak line=23 cpu=error gpu=memcheck
// The scratch memory is never freed.
#include "silu.h"

constexpr int BLOCK = 256;  // threads per block

__global__ void sigmoid_kernel(const float* input, float* sigmoid, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) sigmoid[i] = 1.0f / (1.0f + expf(-input[i]));
}

__global__ void multiply_kernel(const float* input, const float* sigmoid, float* output, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) output[i] = input[i] * sigmoid[i];
}

extern "C" void silu(const float* input, float* output, int n)
{
    const int blocks = (n + BLOCK - 1) / BLOCK;
    float* sigmoid = nullptr;
    cudaMalloc(&sigmoid, n * sizeof(float));
    sigmoid_kernel<<<blocks, BLOCK>>>(input, sigmoid, n);
    multiply_kernel<<<blocks, BLOCK>>>(input, sigmoid, output, n);
}
