#include "silu.h"

__device__ float f(float x) { return x / (1.0f + expf(-x)); }

__global__ void silu_kernel(const float* input, float* output, int n)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i + 3 < n) {
        float4 x = *(const float4*)(input + i);
        *(float4*)(output + i) = make_float4(f(x.x), f(x.y), f(x.z), f(x.w));
    } else {
        for (int j = i; j < n; ++j) output[j] = f(input[j]);
    }
}

extern "C" void silu(const float* input, float* output, int n)
{
    int blocks = (n + 1023) / 1024;
    silu_kernel<<<blocks, 256>>>(input, output, n);
}
