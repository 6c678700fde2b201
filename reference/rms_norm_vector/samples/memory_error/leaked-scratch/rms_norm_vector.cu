// expect: kind=leak line=37 cpu=error gpu=memcheck
// Scratch memory for the partial sums, allocated in every call and never freed.
#include "rms_norm_vector.h"

constexpr int BLOCK = 256;  // threads per block
constexpr int BLOCKS = 64;  // of the first kernel

__global__ void sum_kernel(const float* input, float* partials, int cols)
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
    if (threadIdx.x == 0) partials[blockIdx.x] = sums[0];
}

__global__ void scale_kernel(const float* input, const float* weight, const float* partials,
                             float* output, int cols, float epsilon)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= cols) return;
    float sum = 0.0f;
    for (int b = 0; b < BLOCKS; ++b) sum += partials[b];
    output[i] = input[i] * weight[i] / sqrtf(sum / cols + epsilon);
}

extern "C" void rms_norm_vector(const float* input, const float* weight, float* output, int cols,
                                float epsilon)
{
    float* partials = nullptr;
    cudaMalloc(&partials, BLOCKS * sizeof(float));
    sum_kernel<<<BLOCKS, BLOCK>>>(input, partials, cols);
    scale_kernel<<<(cols + BLOCK - 1) / BLOCK, BLOCK>>>(input, weight, partials, output, cols, epsilon);
}
