// A program around your function: allocate, copy, verify, exit 0 if it is right.
//
// Build it  nvcc -o main main.cu copy_first_column.cu
// Grade it  grade local copy_first_column
// It proves something only if it can tell: exit 0 with a right copy_first_column(), 1 with a
// wrong one.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#include "copy_first_column.h"

// Every call of the CUDA runtime may fail, and so may an earlier launch.
inline void check(cudaError_t status, const char* what)
{
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
    std::exit(EXIT_FAILURE);
}

// Return how many elements of the column are not the first ones of the matrix's rows.
static std::size_t count_wrong(const std::vector<float>& matrix, const std::vector<float>& column,
                               int rows, int cols)
{
    std::size_t wrong = column.size();  // as long as nobody has looked
    // TODO(student): about 5 lines
    // A host loop. Nothing is computed, so every element must be equal, not just close.
    // end
    return wrong;
}

int main()
{
    constexpr int rows = 1009, cols = 503;  // primes: rows and columns cannot be confused unseen
    constexpr std::size_t count = static_cast<std::size_t>(rows) * cols;
    std::vector<float> matrix(count), column(rows, NAN);
    for (std::size_t i = 0; i < count; ++i) matrix[i] = static_cast<float>(i);  // each value once

    // TODO(student): about 6 lines
    // Device memory for the column; it comes back to be looked at.
    // Copy, then ask twice: a call can fail at once, and a kernel later.
    // end

    const std::size_t wrong = count_wrong(matrix, column, rows, cols);
    std::printf("copy_first_column: %zu of %d elements are wrong\n", wrong, rows);
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
