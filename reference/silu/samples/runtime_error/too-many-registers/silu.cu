// expect: device=cuda why="without a GPU only nvcc knows the registers, and not every machine has it"
// A thread holds 96 values in registers, and a block has 1024 threads: together they have too many.
#include "silu.h"

constexpr int BLOCK = 1024;  // threads per block
constexpr int HELD = 96;     // elements per thread, all read before the first is written

__global__ void silu_kernel(const float* input, float* output, int n)
{
    const int first = (blockIdx.x * BLOCK + threadIdx.x) * HELD;
    float held[HELD];
#pragma unroll
    for (int i = 0; i < HELD; ++i) held[i] = first + i < n ? input[first + i] : 0.0f;
#pragma unroll
    for (int i = 0; i < HELD; ++i)
        if (first + i < n) output[first + i] = held[i] / (1.0f + expf(-held[i]));
}

extern "C" void silu(const float* input, float* output, int n)
{
    silu_kernel<<<(n - 1) / (BLOCK * HELD) + 1, BLOCK>>>(input, output, n);
}
