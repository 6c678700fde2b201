// expect: kind=out_of_bounds line=10 cpu=error gpu=memcheck
// The kernel follows the pointer to the host's memory, which nobody has registered.
#include "copy_first_column.h"

constexpr int BLOCK = 256;  // threads per block

__global__ void pick_kernel(const float* matrix, float* column, int rows, int cols)
{
    const int row = blockIdx.x * BLOCK + threadIdx.x;
    if (row < rows) column[row] = matrix[static_cast<size_t>(row) * cols];
}

extern "C" void copy_first_column(const float* h_A, float* d_A, int rows, int cols)
{
    pick_kernel<<<(rows + BLOCK - 1) / BLOCK, BLOCK>>>(h_A, d_A, rows, cols);
}
