// expect: device=cuda check=performance why="only a GPU measures time"
// Right, and one multiprocessor does the work of all: a single block takes the whole vector.
#include "rms_norm_vector.h"

constexpr int BLOCK = 1024;  // threads

__global__ void rms_norm_kernel(const float* input, const float* weight, float* output, int cols,
                                float epsilon)
{
    __shared__ float sums[BLOCK];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols; i += BLOCK) sum += input[i] * input[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    const float scale = rsqrtf(sums[0] / cols + epsilon);
    for (int i = threadIdx.x; i < cols; i += BLOCK) output[i] = input[i] * scale * weight[i];
}

extern "C" void rms_norm_vector(const float* input, const float* weight, float* output, int cols,
                                float epsilon)
{
    rms_norm_kernel<<<1, BLOCK>>>(input, weight, output, cols, epsilon);
}
