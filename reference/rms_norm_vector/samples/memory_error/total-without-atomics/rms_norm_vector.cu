// expect: kind=race line=24 cpu=error gpu=blind why="racecheck sees shared memory only"
// Every block adds its sum to the total, and they are in each other's way.
#include "rms_norm_vector.h"

constexpr int BLOCK = 256;  // threads per block
constexpr int BLOCKS = 64;  // of the first kernel

__device__ float total;

__global__ void clear_kernel() { total = 0.0f; }

__global__ void sum_kernel(const float* input, int cols)
{
    __shared__ float sums[BLOCK];
    float sum = 0.0f;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < cols; i += BLOCKS * BLOCK)
        sum += input[i] * input[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) total = total + sums[0];
}

__global__ void scale_kernel(const float* input, const float* weight, float* output, int cols,
                             float epsilon)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= cols) return;
    output[i] = input[i] * weight[i] / sqrtf(total / cols + epsilon);
}

extern "C" void rms_norm_vector(const float* input, const float* weight, float* output, int cols,
                                float epsilon)
{
    clear_kernel<<<1, 1>>>();
    sum_kernel<<<BLOCKS, BLOCK>>>(input, cols);
    scale_kernel<<<(cols + BLOCK - 1) / BLOCK, BLOCK>>>(input, weight, output, cols, epsilon);
}
