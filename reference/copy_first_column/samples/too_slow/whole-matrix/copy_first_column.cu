// expect: device=cuda check=performance why="only a GPU measures time"
// Copies the whole matrix and picks the column there: right, and cols times the bytes.
#include "copy_first_column.h"

constexpr int BLOCK = 256;  // threads per block

__global__ void pick_kernel(const float* matrix, float* column, int rows, int cols)
{
    const int row = blockIdx.x * BLOCK + threadIdx.x;
    if (row < rows) column[row] = matrix[static_cast<size_t>(row) * cols];
}

extern "C" void copy_first_column(const float* h_A, float* d_A, int rows, int cols)
{
    const size_t bytes = static_cast<size_t>(rows) * cols * sizeof(float);
    float* matrix = nullptr;
    cudaMalloc(&matrix, bytes);
    cudaMemcpy(matrix, h_A, bytes, cudaMemcpyHostToDevice);
    pick_kernel<<<(rows + BLOCK - 1) / BLOCK, BLOCK>>>(matrix, d_A, rows, cols);
    cudaFree(matrix);
}
