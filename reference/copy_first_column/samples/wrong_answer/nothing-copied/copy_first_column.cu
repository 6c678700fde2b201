// expect: check=correctness message="nothing was ever written"
// Gathers the column, and forgets to send it.
#include <vector>

#include "copy_first_column.h"

extern "C" void copy_first_column(const float* h_A, float* d_A, int rows, int cols)
{
    std::vector<float> column(rows);
    for (int row = 0; row < rows; ++row) column[row] = h_A[static_cast<size_t>(row) * cols];
    d_A = column.data();
}
