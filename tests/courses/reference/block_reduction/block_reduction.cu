#include "block_reduction.h"

__global__ void block_reduction(const float* x, float* sums, int cols)
{
    extern __shared__ float part[];  // a float for each thread
    // TODO(student): about 9 lines
    float sum = 0.0f;
    for (int col = threadIdx.x; col < cols; col += blockDim.x) sum += x[blockIdx.x * cols + col];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
    // end
}
