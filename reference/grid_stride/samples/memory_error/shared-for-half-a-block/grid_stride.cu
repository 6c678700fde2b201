// expect: kind=out_of_bounds line=8 cpu=error gpu=memcheck
#include "grid_stride.h"

__global__ void grid_stride(const float* x, float* y, int n, float factor)
{
    __shared__ float buf[128];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        buf[threadIdx.x] = x[i];
        y[i] = factor * buf[threadIdx.x];
    }
}
