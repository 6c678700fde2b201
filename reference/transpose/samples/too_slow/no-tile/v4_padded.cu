// expect: device=cuda check=performance why="only a GPU measures time"
// V2 once more: right, but its stores are scattered.
#include "transpose.h"

constexpr int BLOCK = 256;  // threads per block

__global__ void transpose_kernel(const float* input, float* output, int rows, int cols)
{
    const int row = blockIdx.x;
    for (int col = threadIdx.x; col < cols; col += BLOCK)
        output[col * rows + row] = input[row * cols + col];
}

extern "C" void transpose(const float* input, float* output, int rows, int cols)
{
    transpose_kernel<<<rows, BLOCK>>>(input, output, rows, cols);
}
