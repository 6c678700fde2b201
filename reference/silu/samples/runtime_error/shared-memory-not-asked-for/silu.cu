// expect: message="invalid argument" check=correctness
// 128 KiB of shared memory: the launch has to be allowed more than 48 KiB, by cudaFuncSetAttribute.
#include "silu.h"

constexpr int BLOCK = 256;       // threads per block
constexpr int BYTES = 128 << 10;  // of shared memory per block

__global__ void silu_kernel(const float* input, float* output, int n)
{
    extern __shared__ float held[];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    held[threadIdx.x] = i < n ? input[i] : 0.0f;
    __syncthreads();
    if (i < n) output[i] = held[threadIdx.x] / (1.0f + expf(-held[threadIdx.x]));
}

extern "C" void silu(const float* input, float* output, int n)
{
    silu_kernel<<<(n - 1) / BLOCK + 1, BLOCK, BYTES>>>(input, output, n);
}
