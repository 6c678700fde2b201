// expect: check=correctness
// Starts at the end of the first row: the last column instead of the first.
#include "copy_first_column.h"

extern "C" void copy_first_column(const float* h_A, float* d_A, int rows, int cols)
{
    const size_t pitch = cols * sizeof(float);
    cudaMemcpy2D(d_A, sizeof(float), h_A + cols - 1, pitch, sizeof(float), rows,
                 cudaMemcpyHostToDevice);
}
