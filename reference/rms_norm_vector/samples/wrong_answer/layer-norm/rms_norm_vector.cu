// The mean is taken away first: LayerNorm, not RMSNorm.
#include "rms_norm_vector.h"

constexpr int BLOCK = 256;  // threads per block
constexpr int BLOCKS = 64;  // of the first kernel

__device__ float partials[BLOCKS];  // sums of squares
__device__ float means[BLOCKS];     // sums

__global__ void sum_kernel(const float* input, int cols)
{
    __shared__ float sums[BLOCK], plain[BLOCK];
    float sum = 0.0f, mean = 0.0f;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < cols; i += BLOCKS * BLOCK) {
        sum += input[i] * input[i];
        mean += input[i];
    }
    sums[threadIdx.x] = sum;
    plain[threadIdx.x] = mean;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        if (threadIdx.x < half) plain[threadIdx.x] += plain[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) partials[blockIdx.x] = sums[0];
    if (threadIdx.x == 0) means[blockIdx.x] = plain[0];
}

__global__ void scale_kernel(const float* input, const float* weight, float* output, int cols,
                             float epsilon)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= cols) return;
    float sum = 0.0f, mean = 0.0f;
    for (int b = 0; b < BLOCKS; ++b) sum += partials[b] / cols;
    for (int b = 0; b < BLOCKS; ++b) mean += means[b] / cols;
    const float variance = sum - mean * mean;
    output[i] = (input[i] - mean) * weight[i] / sqrtf(variance + epsilon);
}

extern "C" void rms_norm_vector(const float* input, const float* weight, float* output, int cols,
                                float epsilon)
{
    sum_kernel<<<BLOCKS, BLOCK>>>(input, cols);
    scale_kernel<<<(cols + BLOCK - 1) / BLOCK, BLOCK>>>(input, weight, output, cols, epsilon);
}
