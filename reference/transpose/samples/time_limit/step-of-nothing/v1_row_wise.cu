// The step is a fraction, which is 0 in whole numbers: the loop never comes to its end.
#include "transpose.h"

constexpr int BLOCK = 256;  // threads per block

__global__ void transpose_kernel(const float* input, float* output, int rows, int cols)
{
    const int row = blockIdx.x;
    for (int col = threadIdx.x; col < cols; col += BLOCK / 1024)
        output[col * rows + row] = input[row * cols + col];
}

extern "C" void transpose(const float* input, float* output, int rows, int cols)
{
    transpose_kernel<<<rows, BLOCK>>>(input, output, rows, cols);
}
