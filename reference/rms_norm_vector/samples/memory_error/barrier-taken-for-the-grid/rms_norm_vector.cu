// expect: kind=race line=23,26 cpu=error gpu=blind why="racecheck sees shared memory only"
// One launch: every block leaves its sum and goes on at once to read those of all others,
// of which most have yet to be written.
#include "rms_norm_vector.h"

constexpr int BLOCK = 256;     // threads per block
constexpr int BLOCKS = 10000;  // at most

__device__ float partials[BLOCKS];

__global__ void rms_norm_kernel(const float* input, const float* weight, float* output, int cols,
                                float epsilon)
{
    __shared__ float sums[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    const float x = i < cols ? input[i] : 0.0f;
    sums[threadIdx.x] = x * x;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) partials[blockIdx.x] = sums[0];
    __syncthreads();
    float sum = 0.0f;
    for (int b = 0; b < gridDim.x; ++b) sum += partials[b];
    if (i < cols) output[i] = x * weight[i] / sqrtf(sum / cols + epsilon);
}

extern "C" void rms_norm_vector(const float* input, const float* weight, float* output, int cols,
                                float epsilon)
{
    rms_norm_kernel<<<(cols + BLOCK - 1) / BLOCK, BLOCK>>>(input, weight, output, cols, epsilon);
}
