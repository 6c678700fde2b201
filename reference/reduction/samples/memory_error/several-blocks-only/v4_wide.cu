// expect: kind=race line=17 cpu=error gpu=blind why="racecheck sees shared memory only"
#include "reduction.h"

__global__ void reduce(const float* x, float* sum, int n)
{
    const float4* x4 = (const float4*)x;
    float s = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n / 4; i += gridDim.x * 256) {
        float4 v = __ldg(x4 + i);
        s += v.x + v.y + v.z + v.w;
    }
    if (blockIdx.x == 0 && threadIdx.x < n % 4) s += x[n - 1 - threadIdx.x];
    for (int o = 16; o; o >>= 1) s += __shfl_down_sync(~0u, s, o);
    __shared__ float w[8];
    if (threadIdx.x % 32 == 0) w[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x == 0) *sum += w[0] + w[1] + w[2] + w[3] + w[4] + w[5] + w[6] + w[7];
}
extern "C" void reduction(const float* x, float* sum, int n)
{
    cudaMemset(sum, 0, sizeof(float));
    reduce<<<min(64, (n + 8191) / 8192), 256>>>(x, sum, n);
}
