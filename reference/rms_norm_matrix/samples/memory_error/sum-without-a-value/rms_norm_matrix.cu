// expect: kind=uninitialized line=15 cpu=error gpu=blind why="initcheck sees global memory only"
// A thread adds to a sum that never got a value.
#include "rms_norm_matrix.h"

constexpr int BLOCK = 128;  // threads per block, and per row

__global__ void rms_norm_kernel(const float* input, const float* weight, float* output, int rows,
                                int cols, float epsilon)
{
    __shared__ float sums[BLOCK];
    const long long start = static_cast<long long>(blockIdx.x) * cols;
    float sum;
    for (int c = threadIdx.x; c < cols; c += BLOCK) {
        const float x = input[start + c];
        sum += x * x;
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    const float scale = 1.0f / sqrtf(sums[0] / cols + epsilon);
    for (int c = threadIdx.x; c < cols; c += BLOCK)
        output[start + c] = input[start + c] * scale * weight[c];
}

extern "C" void rms_norm_matrix(const float* input, const float* weight, float* output, int rows,
                                int cols, float epsilon)
{
    rms_norm_kernel<<<rows, BLOCK>>>(input, weight, output, rows, cols, epsilon);
}
