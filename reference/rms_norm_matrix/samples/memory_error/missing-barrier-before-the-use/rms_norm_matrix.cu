// expect: kind=race line=21,23 cpu=error gpu=racecheck:warning why="the writer's own warp reads last"
// The last step of the sum and its use have no barrier between them.
#include "rms_norm_matrix.h"

constexpr int BLOCK = 128;  // threads per block, and per row

__global__ void rms_norm_kernel(const float* input, const float* weight, float* output, int rows,
                                int cols, float epsilon)
{
    __shared__ float sums[BLOCK];
    const long long start = static_cast<long long>(blockIdx.x) * cols;
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += BLOCK) {
        const float x = input[start + c];
        sum += x * x;
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (half < BLOCK / 2) __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
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
