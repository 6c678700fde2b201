// expect: device=cuda check=performance why="only a GPU measures time"
// A copy per element: each takes microseconds, for 4 bytes.
#include "copy_first_column.h"

extern "C" void copy_first_column(const float* h_A, float* d_A, int rows, int cols)
{
    for (int row = 0; row < rows; ++row)
        cudaMemcpy(d_A + row, h_A + static_cast<size_t>(row) * cols, sizeof(float),
                   cudaMemcpyHostToDevice);
}
