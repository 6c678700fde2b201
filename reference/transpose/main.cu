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
    wrong = 0;
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row)
        for (std::size_t col = 0; col < static_cast<std::size_t>(cols); ++col) {
            const bool equal = output[col * rows + row] == input[row * cols + col];
            if (!equal) ++wrong;
        }
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
    const std::size_t bytes = count * sizeof(float);
    float *d_input = nullptr, *d_output = nullptr;
    check(cudaMalloc(&d_input, bytes), "cudaMalloc");
    check(cudaMalloc(&d_output, bytes), "cudaMalloc");
    check(cudaMemcpy(d_input, input.data(), bytes, cudaMemcpyHostToDevice), "copy to device");
    // Launch, then ask twice: a launch can be refused, and a kernel can fail later.
    transpose(d_input, d_output, rows, cols);
    check(cudaGetLastError(), "launch");
    check(cudaDeviceSynchronize(), "kernel");
    check(cudaMemcpy(output.data(), d_output, bytes, cudaMemcpyDeviceToHost), "copy to host");
    check(cudaFree(d_input), "cudaFree");
    check(cudaFree(d_output), "cudaFree");
    // end

    const std::size_t wrong = count_wrong(input, output, rows, cols);
    std::printf("transpose: %zu of %zu elements are wrong\n", wrong, count);
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
