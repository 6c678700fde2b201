// expect: kind=misaligned line=16 cpu=error gpu=memcheck
// Element 0 is done alone, so the float4 of all others begin 4 bytes off.
#include "silu.h"

constexpr int BLOCK = 256;  // threads per block
constexpr int VEC = 4;      // floats per thread

__device__ float silu_of(float x) { return x / (1.0f + expf(-x)); }

__global__ void silu_kernel(const float* input, float* output, int n)
{
    const int thread = blockIdx.x * BLOCK + threadIdx.x;
    if (thread == 0) output[0] = silu_of(input[0]);
    const int first = 1 + thread * VEC;
    if (first + VEC <= n) {
        const float4 x = *reinterpret_cast<const float4*>(input + first);
        output[first] = silu_of(x.x);
        output[first + 1] = silu_of(x.y);
        output[first + 2] = silu_of(x.z);
        output[first + 3] = silu_of(x.w);
    } else {
        for (int i = first; i < n; ++i) output[i] = silu_of(input[i]);
    }
}

extern "C" void silu(const float* input, float* output, int n)
{
    const int blocks = (n + BLOCK * VEC - 1) / (BLOCK * VEC);
    silu_kernel<<<blocks, BLOCK>>>(input, output, n);
}
