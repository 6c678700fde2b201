// Scratch memory that is allocated once, kept between calls, and replaced when a larger size comes.
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
    static float* sigmoid = nullptr;
    static int room = 0;
    if (room < n) {
        cudaFree(sigmoid);
        cudaMalloc(&sigmoid, n * sizeof(float));
        room = n;
    }
    const int blocks = (n + BLOCK - 1) / BLOCK;
    sigmoid_kernel<<<blocks, BLOCK>>>(input, sigmoid, n);
    multiply_kernel<<<blocks, BLOCK>>>(input, sigmoid, output, n);
}
