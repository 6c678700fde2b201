#include "rms_norm_matrix.h"

const int BLOCK = 256;

__global__ void rms_norm_kernel(const float* input, const float* weight, float* output, int rows,
                                int cols, float epsilon)
{
    __shared__ float sums[BLOCK];
    int row = blockIdx.x;
    int t = threadIdx.x;
    const float* x = input + (size_t)row * cols;
    float* y = output + (size_t)row * cols;

    float sum = 0.0f;
    for (int col = t; col < cols; col += BLOCK)
        sum += x[col] * x[col];
    sums[t] = sum;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (t < half) sums[t] += sums[t + half];
        __syncthreads();
    }
    float scale = rsqrtf(sums[0] / cols + epsilon);
    for (int col = t; col < cols; col += BLOCK)
        y[col] = x[col] * scale * weight[col];
}

extern "C" void rms_norm_matrix(const float* input, const float* weight, float* output, int rows,
                                int cols, float epsilon)
{
    rms_norm_kernel<<<rows, BLOCK>>>(input, weight, output, rows, cols, epsilon);
}
