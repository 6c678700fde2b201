// The block that finishes last adds up all partial sums and leaves the scale behind.
#include "rms_norm_vector.h"

constexpr int BLOCK = 256;  // threads per block
constexpr int BLOCKS = 64;  // of the first kernel

__device__ float partials[BLOCKS];
__device__ unsigned finished;  // blocks, in this call
__device__ float scale;

__device__ float block_sum(float value, float* sums)
{
    sums[threadIdx.x] = value;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    return sums[0];
}

__global__ void sum_kernel(const float* input, int cols, float epsilon)
{
    __shared__ float sums[BLOCK];
    __shared__ bool last;
    float sum = 0.0f;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < cols; i += BLOCKS * BLOCK)
        sum += input[i] * input[i];
    sum = block_sum(sum, sums);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(&finished, 1) == BLOCKS - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    sum = block_sum(threadIdx.x < BLOCKS ? partials[threadIdx.x] : 0.0f, sums);
    if (threadIdx.x == 0) {
        scale = rsqrtf(sum / cols + epsilon);
        finished = 0;
    }
}

__global__ void scale_kernel(const float* input, const float* weight, float* output, int cols)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < cols) output[i] = input[i] * weight[i] * scale;
}

extern "C" void rms_norm_vector(const float* input, const float* weight, float* output, int cols,
                                float epsilon)
{
    sum_kernel<<<BLOCKS, BLOCK>>>(input, cols, epsilon);
    scale_kernel<<<(cols + BLOCK - 1) / BLOCK, BLOCK>>>(input, weight, output, cols);
}
