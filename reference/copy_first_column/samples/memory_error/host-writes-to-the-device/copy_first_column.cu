// expect: kind=out_of_bounds line=7 cpu=error gpu=blind why="on a GPU the processor itself ends the program"
// Host code follows the device pointer, as if the two memories were one.
#include "copy_first_column.h"

extern "C" void copy_first_column(const float* h_A, float* d_A, int rows, int cols)
{
    for (int row = 0; row < rows; ++row) d_A[row] = h_A[static_cast<size_t>(row) * cols];
}
