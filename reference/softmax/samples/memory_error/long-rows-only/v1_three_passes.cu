// expect: kind=race line=24,28 cpu=error gpu=racecheck
#include "softmax.h"

// short rows: a warp for each; long rows: a block of 1024
__global__ void short_rows(const float* x, float* y, int cols)
{
    x += (size_t)blockIdx.x * cols; y += (size_t)blockIdx.x * cols;
    float m = -INFINITY, s = 0;
    for (int c = threadIdx.x; c < cols; c += 32) m = fmaxf(m, x[c]);
    for (int o = 16; o; o /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    for (int c = threadIdx.x; c < cols; c += 32) s += expf(x[c] - m);
    for (int o = 16; o; o /= 2) s += __shfl_xor_sync(~0u, s, o);
    for (int c = threadIdx.x; c < cols; c += 32) y[c] = expf(x[c] - m) / s;
}
__global__ void long_rows(const float* x, float* y, int cols)
{
    __shared__ float red[32];
    x += (size_t)blockIdx.x * cols; y += (size_t)blockIdx.x * cols;
    float m = -INFINITY, s = 0;
    for (int c = threadIdx.x; c < cols; c += 1024) m = fmaxf(m, x[c]);
    for (int o = 16; o; o /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    if (threadIdx.x % 32 == 0) red[threadIdx.x / 32] = m;
    __syncthreads();
    m = red[threadIdx.x % 32];
    for (int o = 16; o; o /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    for (int c = threadIdx.x; c < cols; c += 1024) s += expf(x[c] - m);
    for (int o = 16; o; o /= 2) s += __shfl_xor_sync(~0u, s, o);
    if (threadIdx.x % 32 == 0) red[threadIdx.x / 32] = s;   // other warps may still read the maxima
    __syncthreads();
    s = red[threadIdx.x % 32];
    for (int o = 16; o; o /= 2) s += __shfl_xor_sync(~0u, s, o);
    for (int c = threadIdx.x; c < cols; c += 1024) y[c] = expf(x[c] - m) / s;
}
extern "C" void softmax(const float* x, float* y, int rows, int cols)
{
    if (cols <= 1024 + 512) short_rows<<<rows, 32>>>(x, y, cols);
    else long_rows<<<rows, 1024>>>(x, y, cols);
}
