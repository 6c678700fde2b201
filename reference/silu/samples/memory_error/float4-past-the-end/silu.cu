// expect: kind=out_of_bounds line=17 cpu=error gpu=memcheck
// Every thread takes a whole float4; the last one has fewer than four elements.
#include "silu.h"

constexpr int BLOCK = 256;  // threads per block
constexpr int VEC = 4;      // floats per thread

__device__ float4 silu_of(float4 x)
{
    return make_float4(x.x / (1.0f + expf(-x.x)), x.y / (1.0f + expf(-x.y)),
                       x.z / (1.0f + expf(-x.z)), x.w / (1.0f + expf(-x.w)));
}

__global__ void silu_kernel(const float4* input, float4* output, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i * VEC < n) output[i] = silu_of(input[i]);
}

extern "C" void silu(const float* input, float* output, int n)
{
    const int blocks = (n + BLOCK * VEC - 1) / (BLOCK * VEC);
    silu_kernel<<<blocks, BLOCK>>>(reinterpret_cast<const float4*>(input),
                                   reinterpret_cast<float4*>(output), n);
}
