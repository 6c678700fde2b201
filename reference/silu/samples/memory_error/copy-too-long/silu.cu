// expect: kind=invalid_copy line=19 cpu=error gpu=blind why="the copy runs into the padding between arrays; the kernel's read of it is told"
// The scratch copy is as long as all blocks, so the copy runs past the input's end.
#include "silu.h"

constexpr int BLOCK = 256;  // threads per block

__global__ void silu_kernel(const float* copy, float* output, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) output[i] = copy[i] / (1.0f + expf(-copy[i]));
}

extern "C" void silu(const float* input, float* output, int n)
{
    const int blocks = (n + BLOCK - 1) / BLOCK;
    const size_t bytes = static_cast<size_t>(blocks) * BLOCK * sizeof(float);
    float* copy = nullptr;
    cudaMalloc(&copy, bytes);
    cudaMemcpy(copy, input, bytes, cudaMemcpyDeviceToDevice);
    silu_kernel<<<blocks, BLOCK>>>(copy, output, n);
    cudaFree(copy);
}
