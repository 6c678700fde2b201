// expect: kind=race line=18 cpu=error gpu=racecheck
// All threads add to one shared total at once.
#include "rms_norm_vector.h"

constexpr int BLOCK = 256;  // threads per block
constexpr int BLOCKS = 64;  // of the first kernel

__device__ float partials[BLOCKS];

__global__ void sum_kernel(const float* input, int cols)
{
    __shared__ float total;
    if (threadIdx.x == 0) total = 0.0f;
    __syncthreads();
    float sum = 0.0f;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < cols; i += BLOCKS * BLOCK)
        sum += input[i] * input[i];
    total += sum;
    __syncthreads();
    if (threadIdx.x == 0) partials[blockIdx.x] = total;
}

__global__ void scale_kernel(const float* input, const float* weight, float* output, int cols,
                             float epsilon)
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
    sum_kernel<<<BLOCKS, BLOCK>>>(input, cols);
    scale_kernel<<<(cols + BLOCK - 1) / BLOCK, BLOCK>>>(input, weight, output, cols, epsilon);
}
