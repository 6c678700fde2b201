#include <cuda_runtime.h>
#include <stdlib.h>

#include "copy_first_column.h"

extern "C" void copy_first_column(const float* h_A, float* d_A, int rows, int cols)
{
    float* column = (float*)malloc(rows * sizeof(float));
    for (int row = 0; row < rows; ++row)
        column[row] = h_A[(size_t)row * cols];
    cudaMemcpy(d_A, column, rows * sizeof(float), cudaMemcpyHostToDevice);
    free(column);
}
