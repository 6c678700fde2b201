// expect: kind=out_of_bounds line=14 cpu=error gpu=memcheck
// The next element is loaded ahead of its turn, also when there is no next one.
#include "silu.h"

constexpr int BLOCK = 256;  // threads per block

__global__ void silu_kernel(const float* input, float* output, int n)
{
    const int stride = gridDim.x * BLOCK;
    int i = blockIdx.x * BLOCK + threadIdx.x;
    float next = i < n ? input[i] : 0.0f;
    for (; i < n; i += stride) {
        const float x = next;
        next = input[i + stride];
        output[i] = x / (1.0f + expf(-x));
    }
}

extern "C" void silu(const float* input, float* output, int n)
{
    silu_kernel<<<1, BLOCK>>>(input, output, n);
}
