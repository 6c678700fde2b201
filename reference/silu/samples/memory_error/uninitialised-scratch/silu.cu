// expect: kind=uninitialized line=17 cpu=error gpu=initcheck
// The scratch memory is padded to whole blocks, and the padding is read unwritten.
#include "silu.h"

constexpr int BLOCK = 256;  // threads per block

__global__ void sigmoid_kernel(const float* input, float* sigmoid, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) sigmoid[i] = 1.0f / (1.0f + expf(-input[i]));
}

__global__ void multiply_kernel(const float* input, const float* sigmoid, float* output, int n)
{
    __shared__ float tile[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    tile[threadIdx.x] = sigmoid[i];
    __syncthreads();
    if (i < n) output[i] = input[i] * tile[threadIdx.x];
}

extern "C" void silu(const float* input, float* output, int n)
{
    const int blocks = (n + BLOCK - 1) / BLOCK;
    float* sigmoid = nullptr;
    cudaMalloc(&sigmoid, static_cast<size_t>(blocks) * BLOCK * sizeof(float));
    sigmoid_kernel<<<blocks, BLOCK>>>(input, sigmoid, n);
    multiply_kernel<<<blocks, BLOCK>>>(input, sigmoid, output, n);
    cudaFree(sigmoid);
}
