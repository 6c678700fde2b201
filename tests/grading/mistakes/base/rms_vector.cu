#include "rms_norm_vector.h"

const int BLOCK = 256;

__global__ void sum_kernel(const float* input, float* total, int cols)
{
    __shared__ float sums[BLOCK];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = blockIdx.x * BLOCK + t; i < cols; i += gridDim.x * BLOCK)
        sum += input[i] * input[i];
    sums[t] = sum;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (t < half) sums[t] += sums[t + half];
        __syncthreads();
    }
    if (t == 0) atomicAdd(total, sums[0]);
}

__global__ void scale_kernel(const float* input, const float* weight, const float* total,
                             float* output, int cols, float epsilon)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < cols) {
        float rms = sqrtf(*total / cols + epsilon);
        output[i] = input[i] / rms * weight[i];
    }
}

extern "C" void rms_norm_vector(const float* input, const float* weight, float* output, int cols,
                                float epsilon)
{
    float* total;
    cudaMalloc(&total, sizeof(float));
    cudaMemset(total, 0, sizeof(float));
    int blocks = (cols + BLOCK - 1) / BLOCK;
    sum_kernel<<<blocks < 128 ? blocks : 128, BLOCK>>>(input, total, cols);
    scale_kernel<<<blocks, BLOCK>>>(input, weight, total, output, cols, epsilon);
    cudaFree(total);
}
