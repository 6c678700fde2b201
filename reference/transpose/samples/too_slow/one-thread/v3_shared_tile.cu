// expect: device=cuda check=performance why="only a GPU measures time"
// A thread per row, in blocks of 32: too few threads, and all of them scattered.
#include "transpose.h"

__global__ void transpose_kernel(const float* input, float* output, int rows, int cols)
{
    const int row = blockIdx.x * 32 + threadIdx.x;
    if (row >= rows) return;
    for (int col = 0; col < cols; ++col) output[col * rows + row] = input[row * cols + col];
}

extern "C" void transpose(const float* input, float* output, int rows, int cols)
{
    transpose_kernel<<<(rows + 31) / 32, 32>>>(input, output, rows, cols);
}
