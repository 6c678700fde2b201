#include <cuda_runtime.h>

#include "copy_first_column.h"

__global__ void gather_kernel(const float* matrix, float* column, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) column[row] = matrix[(size_t)row * cols];
}

extern "C" void copy_first_column(const float* h_A, float* d_A, int rows, int cols)
{
    float* matrix;
    size_t bytes = (size_t)rows * cols * sizeof(float);
    cudaMalloc(&matrix, bytes);
    cudaMemcpy(matrix, h_A, bytes, cudaMemcpyHostToDevice);
    gather_kernel<<<(rows + 255) / 256, 256>>>(matrix, d_A, rows, cols);
    cudaFree(matrix);
}
