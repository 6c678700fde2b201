// expect: kind=race line=13,17 cpu=error gpu=racecheck
// One barrier per tile: a fast thread fills the next tile while a slow one still reads this one.
#include "silu.h"

constexpr int BLOCK = 256;  // threads per block

__global__ void silu_kernel(const float* input, float* output, int n)
{
    __shared__ float tile[BLOCK];
    const int mine = threadIdx.x;
    for (int first = 0; first < n; first += BLOCK) {
        const int count = min(BLOCK, n - first);
        if (mine < count) tile[mine] = input[first + mine];
        __syncthreads();
        const int other = count - 1 - mine;
        if (other >= 0) {
            const float x = tile[other];
            output[first + other] = x / (1.0f + expf(-x));
        }
    }
}

extern "C" void silu(const float* input, float* output, int n)
{
    silu_kernel<<<1, BLOCK>>>(input, output, n);
}
