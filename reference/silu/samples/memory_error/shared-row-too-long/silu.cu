// expect: kind=out_of_bounds line=13 cpu=warning gpu=blind why="the access stays inside the variable"
// Two rows of a tile are used as one: past the end of row 0 lies row 1.
#include "silu.h"

constexpr int BLOCK = 256;  // threads per block
constexpr int ROWS = 2;     // elements per thread

__global__ void silu_kernel(const float* input, float* output, int n)
{
    __shared__ float tile[ROWS][BLOCK];
    const int first = blockIdx.x * BLOCK * ROWS;
    for (int k = threadIdx.x; k < ROWS * BLOCK; k += BLOCK)
        if (first + k < n) tile[0][k] = input[first + k];
    __syncthreads();
    for (int row = 0; row < ROWS; ++row) {
        const int i = first + row * BLOCK + threadIdx.x;
        if (i >= n) return;
        const float x = tile[row][threadIdx.x];
        output[i] = x / (1.0f + expf(-x));
    }
}

extern "C" void silu(const float* input, float* output, int n)
{
    const int blocks = (n + BLOCK * ROWS - 1) / (BLOCK * ROWS);
    silu_kernel<<<blocks, BLOCK>>>(input, output, n);
}
