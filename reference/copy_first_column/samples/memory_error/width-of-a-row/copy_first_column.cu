// expect: kind=invalid_copy line=9 cpu=error gpu=memcheck
// Asks for whole rows, which are longer than the pitch of the column.
#include "copy_first_column.h"

extern "C" void copy_first_column(const float* h_A, float* d_A, int rows, int cols)
{
    const size_t pitch = cols * sizeof(float);
    // Whole rows, 4 bytes apart.
    cudaMemcpy2D(d_A, sizeof(float), h_A, pitch, pitch, rows, cudaMemcpyHostToDevice);
}
