// The reduction ends with the warps: every warp scales its columns by its own sum.
#include "rms_norm_matrix.h"

constexpr int BLOCK = 128;  // threads per block, and per row

__global__ void rms_norm_kernel(const float* input, const float* weight, float* output, int rows,
                                int cols, float epsilon)
{
    const long long start = static_cast<long long>(blockIdx.x) * cols;
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += BLOCK) {
        const float x = input[start + c];
        sum += x * x;
    }
    for (int away = 16; away > 0; away /= 2) sum += __shfl_xor_sync(0xffffffff, sum, away);
    const float scale = 1.0f / sqrtf(sum / cols + epsilon);
    for (int c = threadIdx.x; c < cols; c += BLOCK)
        output[start + c] = input[start + c] * scale * weight[c];
}

extern "C" void rms_norm_matrix(const float* input, const float* weight, float* output, int rows,
                                int cols, float epsilon)
{
    rms_norm_kernel<<<rows, BLOCK>>>(input, weight, output, rows, cols, epsilon);
}
