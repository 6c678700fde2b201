// expect: kind=out_of_bounds line=16 cpu=error gpu=memcheck
#include "silu.h"

__device__ float f(float x) { return x / (1.0f + expf(-x)); }

__global__ void simple(const float* in, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = f(in[i]);
}
// large arrays: four elements a thread
__global__ void wide(const float4* in, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (4 * i < n) {
        float4 v = in[i];                       // the last one may reach past n: not stored below
        out[4 * i] = f(v.x);
        if (4 * i + 1 < n) out[4 * i + 1] = f(v.y);
        if (4 * i + 2 < n) out[4 * i + 2] = f(v.z);
        if (4 * i + 3 < n) out[4 * i + 3] = f(v.w);
    }
}
extern "C" void silu(const float* input, float* output, int n)
{
    if (n < 10000) simple<<<(n + 255) / 256, 256>>>(input, output, n);
    else wide<<<(n / 4 + 256) / 256, 256>>>((const float4*)input, output, n);
}
