// expect: device=cuda check=performance why="only a GPU measures time"
// Right, and neighbouring threads read a row's length apart: a thread per row.
#include "rms_norm_matrix.h"

constexpr int BLOCK = 64;  // threads per block, and rows

__global__ void rms_norm_kernel(const float* input, const float* weight, float* output, int rows,
                                int cols, float epsilon)
{
    const int row = blockIdx.x * BLOCK + threadIdx.x;
    if (row >= rows) return;
    const float* x = input + static_cast<long long>(row) * cols;
    float* y = output + static_cast<long long>(row) * cols;
    float sum = 0.0f;
    for (int c = 0; c < cols; ++c) sum += x[c] * x[c];
    const float scale = rsqrtf(sum / cols + epsilon);
    for (int c = 0; c < cols; ++c) y[c] = x[c] * scale * weight[c];
}

extern "C" void rms_norm_matrix(const float* input, const float* weight, float* output, int rows,
                                int cols, float epsilon)
{
    const int blocks = (rows + BLOCK - 1) / BLOCK;
    rms_norm_kernel<<<blocks, BLOCK>>>(input, weight, output, rows, cols, epsilon);
}
