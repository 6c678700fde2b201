// expect: device=cuda check=performance why="only a GPU measures time"
// Right, and one multiprocessor does the work of all: a single block takes the whole array.
#include "silu.h"

constexpr int BLOCK = 1024;  // threads

__global__ void silu_kernel(const float* input, float* output, int n)
{
    for (long long i = threadIdx.x; i < n; i += BLOCK) {
        const float x = input[i];
        output[i] = x / (1.0f + expf(-x));
    }
}

extern "C" void silu(const float* input, float* output, int n)
{
    silu_kernel<<<1, BLOCK>>>(input, output, n);
}
