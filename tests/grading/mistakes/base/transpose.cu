#include "transpose.h"

__global__ void transpose_kernel(const float* input, float* output, int rows, int cols)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && col < cols)
        output[col * rows + row] = input[row * cols + col];
}

extern "C" void transpose(const float* input, float* output, int rows, int cols)
{
    dim3 block(16, 16);
    dim3 grid((cols + 15) / 16, (rows + 15) / 16);
    transpose_kernel<<<grid, block>>>(input, output, rows, cols);
}
