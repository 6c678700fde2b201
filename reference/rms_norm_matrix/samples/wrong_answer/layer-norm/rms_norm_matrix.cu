// The mean is taken away first: LayerNorm, not RMSNorm.
#include "rms_norm_matrix.h"

constexpr int BLOCK = 128;  // threads per block, and per row

__global__ void rms_norm_kernel(const float* input, const float* weight, float* output, int rows,
                                int cols, float epsilon)
{
    __shared__ float sums[BLOCK], plain[BLOCK];
    const long long start = static_cast<long long>(blockIdx.x) * cols;
    float sum = 0.0f, mean = 0.0f;
    for (int c = threadIdx.x; c < cols; c += BLOCK) {
        const float x = input[start + c];
        sum += x * x;
        mean += x;
    }
    sums[threadIdx.x] = sum;
    plain[threadIdx.x] = mean;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        if (threadIdx.x < half) plain[threadIdx.x] += plain[threadIdx.x + half];
        __syncthreads();
    }
    mean = plain[0] / cols;
    const float scale = 1.0f / sqrtf(sums[0] / cols - mean * mean + epsilon);
    for (int c = threadIdx.x; c < cols; c += BLOCK)
        output[start + c] = (input[start + c] - mean) * scale * weight[c];
}

extern "C" void rms_norm_matrix(const float* input, const float* weight, float* output, int rows,
                                int cols, float epsilon)
{
    rms_norm_kernel<<<rows, BLOCK>>>(input, weight, output, rows, cols, epsilon);
}
