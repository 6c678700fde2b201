// As many blocks as the GPU runs at once; each takes every so-manieth row.
#include "transpose.h"

constexpr int BLOCK = 256;  // threads per block

__global__ void transpose_kernel(const float* input, float* output, int rows, int cols)
{
    for (int row = blockIdx.x; row < rows; row += gridDim.x)
        for (int col = threadIdx.x; col < cols; col += BLOCK)
            output[col * rows + row] = input[row * cols + col];
}

extern "C" void transpose(const float* input, float* output, int rows, int cols)
{
    const int blocks = rows < 512 ? rows : 512;
    transpose_kernel<<<blocks, BLOCK>>>(input, output, rows, cols);
}
