#include "silu.h"

// Each block reverses its part in shared memory and writes it back in order.
__global__ void silu_kernel(const float* input, float* output, int n)
{
    __shared__ float tile[256];
    int first = blockIdx.x * 256;
    int count = min(256, n - first);
    int t = threadIdx.x;
    if (t < count) tile[t] = input[first + t];
    __syncthreads();
    int other = count - 1 - t;
    if (other < 0) return;
    float x = tile[other];
    output[first + other] = x / (1.0f + expf(-x));
}

extern "C" void silu(const float* input, float* output, int n)
{
    int blocks = (n + 255) / 256;
    silu_kernel<<<blocks, 256>>>(input, output, n);
}
