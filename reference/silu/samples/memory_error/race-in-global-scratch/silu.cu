// expect: kind=race line=13,15 cpu=error gpu=blind why="racecheck sees shared memory only"
// Threads of a block swap elements through global memory without a barrier between.
#include "silu.h"

constexpr int BLOCK = 256;  // threads per block

__global__ void silu_kernel(const float* input, float* sigmoid, float* output, int n)
{
    const int first = blockIdx.x * BLOCK;
    const int count = min(BLOCK, n - first);
    const int mine = threadIdx.x;
    if (mine >= count) return;
    sigmoid[first + mine] = 1.0f / (1.0f + expf(-input[first + mine]));
    const int other = first + count - 1 - mine;
    output[other] = input[other] * sigmoid[other];
}

extern "C" void silu(const float* input, float* output, int n)
{
    const int blocks = (n + BLOCK - 1) / BLOCK;
    float* sigmoid = nullptr;
    cudaMalloc(&sigmoid, n * sizeof(float));
    cudaMemset(sigmoid, 0, n * sizeof(float));
    silu_kernel<<<blocks, BLOCK>>>(input, sigmoid, output, n);
    cudaFree(sigmoid);
}
