// expect: check=correctness message="never written"
// A thread per element of a row, although rows may be longer than a block.
#include "transpose.h"

constexpr int BLOCK = 256;  // threads per block

__global__ void transpose_kernel(const float* input, float* output, int rows, int cols)
{
    const int row = blockIdx.x;
    const int col = threadIdx.x;
    if (col < cols) output[col * rows + row] = input[row * cols + col];
}

extern "C" void transpose(const float* input, float* output, int rows, int cols)
{
    transpose_kernel<<<rows, BLOCK>>>(input, output, rows, cols);
}
