// expect: kind=out_of_bounds line=14 cpu=error gpu=memcheck
// A thread's own array of four is indexed by the element's place in the input.
#include "silu.h"

constexpr int BLOCK = 256;  // threads per block
constexpr int VEC = 4;      // floats per thread

__global__ void silu_kernel(const float* input, float* output, int n)
{
    float mine[VEC];
    const int first = (blockIdx.x * BLOCK + threadIdx.x) * VEC;
    const int end = min(first + VEC, n);
#pragma unroll 1
    for (int i = first; i < end; ++i) mine[i] = input[i];
#pragma unroll 1
    for (int i = first; i < end; ++i) output[i] = mine[i] / (1.0f + expf(-mine[i]));
}

extern "C" void silu(const float* input, float* output, int n)
{
    const int blocks = (n + BLOCK * VEC - 1) / (BLOCK * VEC);
    silu_kernel<<<blocks, BLOCK>>>(input, output, n);
}
