// Whole float4 first, then the one to three elements that are left, one per thread.
#include "silu.h"

constexpr int BLOCK = 256;  // threads per block
constexpr int VEC = 4;      // floats per thread

__device__ float silu_of(float x) { return x / (1.0f + expf(-x)); }

__global__ void silu_kernel(const float* input, float* output, int n)
{
    const int thread = blockIdx.x * BLOCK + threadIdx.x;
    const int whole = n / VEC;
    if (thread < whole) {
        const float4 x = reinterpret_cast<const float4*>(input)[thread];
        reinterpret_cast<float4*>(output)[thread] =
            make_float4(silu_of(x.x), silu_of(x.y), silu_of(x.z), silu_of(x.w));
    }
    const int i = whole * VEC + thread;
    if (i < n) output[i] = silu_of(input[i]);
}

extern "C" void silu(const float* input, float* output, int n)
{
    const int blocks = (n + BLOCK * VEC - 1) / (BLOCK * VEC);
    silu_kernel<<<blocks, BLOCK>>>(input, output, n);
}
