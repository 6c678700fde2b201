// expect: kind=invalid_copy line=7 cpu=error gpu=blind why="the copy runs into the padding between arrays"
// Copies rows * cols elements into room for rows.
#include "copy_first_column.h"

extern "C" void copy_first_column(const float* h_A, float* d_A, int rows, int cols)
{
    cudaMemcpy(d_A, h_A, sizeof(float) * rows * cols, cudaMemcpyHostToDevice);
}
