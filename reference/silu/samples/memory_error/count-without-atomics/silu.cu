// expect: kind=race line=14 cpu=error gpu=racecheck
// The block counts its large elements to choose a formula; increments get lost.
#include "silu.h"

constexpr int BLOCK = 256;  // threads per block

__global__ void silu_kernel(const float* input, float* output, int n)
{
    __shared__ int positive;
    if (threadIdx.x == 0) positive = 0;
    __syncthreads();
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    const float x = i < n ? input[i] : 0.0f;
    if (x > 0.0f) positive += 1;
    __syncthreads();
    if (i >= n) return;
    // Both are SiLU; the second divides by nothing that overflows for x > 0.
    output[i] = positive == 0 ? x / (1.0f + expf(-x)) : x * (1.0f / (1.0f + expf(-x)));
}

extern "C" void silu(const float* input, float* output, int n)
{
    const int blocks = (n + BLOCK - 1) / BLOCK;
    silu_kernel<<<blocks, BLOCK>>>(input, output, n);
}
