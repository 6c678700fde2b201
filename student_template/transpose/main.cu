// A program around your kernel: allocate, launch, verify, exit 0 if it is right.
//
// Build it  nvcc -o main main.cu v4_padded.cu        (or any other rung's file)
// Grade it  grade local transpose --language cuda
// It proves something only if it can tell: exit 0 with a right transpose(), 1 with a wrong one.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#include "transpose.h"

// Every call of the CUDA runtime may fail, and so may an earlier launch.
inline void check(cudaError_t status, const char* what)
{
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
    std::exit(EXIT_FAILURE);
}

// Return how many elements of output, (cols, rows), are not where they belong.
static std::size_t count_wrong(const std::vector<float>& input, const std::vector<float>& output,
                               int rows, int cols)
{
    std::size_t wrong = output.size();  // as long as nobody has looked
    // TODO(student): about 6 lines
    // Two host loops. Nothing is computed, so every element must be equal, not just close.
    // end
    return wrong;
}

int main()
{
    constexpr int rows = 1009, cols = 503;  // primes: no tile divides them
    constexpr std::size_t count = static_cast<std::size_t>(rows) * cols;
    std::vector<float> input(count), output(count, NAN);
    for (std::size_t i = 0; i < count; ++i) input[i] = static_cast<float>(i);  // each value once

    // TODO(student): about 10 lines
    // Device memory for both matrices; the input goes there, the output comes back.
    // Launch, then ask twice: a launch can be refused, and a kernel can fail later.
    // end

    const std::size_t wrong = count_wrong(input, output, rows, cols);
    std::printf("transpose: %zu of %zu elements are wrong\n", wrong, count);
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
