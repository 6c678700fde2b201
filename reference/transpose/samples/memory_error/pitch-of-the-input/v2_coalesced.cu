// expect: kind=out_of_bounds line=11 cpu=error gpu=memcheck
// The rows of the output are taken to be as long as those of the input.
#include "transpose.h"

constexpr int BLOCK = 256;  // threads per block

__global__ void transpose_kernel(const float* input, float* output, int rows, int cols)
{
    const int row = blockIdx.x;
    for (int col = threadIdx.x; col < cols; col += BLOCK)
        output[col * cols + row] = input[row * cols + col];
}

extern "C" void transpose(const float* input, float* output, int rows, int cols)
{
    transpose_kernel<<<rows, BLOCK>>>(input, output, rows, cols);
}
