// Correct: a sum for each block, which the host adds up. It moves some bytes, and no elements.
#include "rms_norm_vector.h"

#include <cmath>
#include <vector>

constexpr int BLOCK = 256;  // threads per block

__global__ void sum_kernel(const float* input, float* partials, int cols)
{
    __shared__ float sums[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    sums[threadIdx.x] = i < cols ? input[i] * input[i] : 0.0f;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) partials[blockIdx.x] = sums[0];
}

__global__ void scale_kernel(const float* input, const float* weight, float* output, int cols,
                             float scale)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < cols) output[i] = input[i] * scale * weight[i];
}

extern "C" void rms_norm_vector(const float* input, const float* weight, float* output, int cols,
                                float epsilon)
{
    const int blocks = (cols + BLOCK - 1) / BLOCK;
    float* partials;
    cudaMalloc(&partials, blocks * sizeof(float));
    sum_kernel<<<blocks, BLOCK>>>(input, partials, cols);
    std::vector<float> sums(blocks);
    cudaMemcpy(sums.data(), partials, blocks * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(partials);
    double sum = 0.0;
    for (float partial : sums) sum += partial;
    const float scale = 1.0f / std::sqrt(static_cast<float>(sum / cols) + epsilon);
    scale_kernel<<<blocks, BLOCK>>>(input, weight, output, cols, scale);
}
