// expect: kind=invalid_copy line=9 cpu=error gpu=blind why="the tools of a GPU do not look at host memory"
// Takes the number of rows for the length of a row: beyond square matrices it reads past h_A.
#include "copy_first_column.h"

extern "C" void copy_first_column(const float* h_A, float* d_A, int rows, int cols)
{
    const size_t pitch = rows * sizeof(float);
    // 4 bytes of every row.
    cudaMemcpy2D(d_A, sizeof(float), h_A, pitch, sizeof(float), rows, cudaMemcpyHostToDevice);
}
