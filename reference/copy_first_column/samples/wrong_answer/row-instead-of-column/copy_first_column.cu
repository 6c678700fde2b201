// expect: check=correctness
// Neighbouring elements in memory are those of a row, not of a column.
#include "copy_first_column.h"

extern "C" void copy_first_column(const float* h_A, float* d_A, int rows, int cols)
{
    cudaMemcpy(d_A, h_A, rows * sizeof(float), cudaMemcpyHostToDevice);
}
