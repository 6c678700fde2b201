// A program around your kernel: allocate, launch, verify, exit 0 if it is right.
//
// Build it  nvcc -o main main.cu rms_norm_matrix.cu
// Grade it  grade local rms_norm_matrix --language cuda
// It proves something only if it can tell: exit 0 with a right rms_norm_matrix(), 1 with a wrong one.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#include "rms_norm_matrix.h"

// Every call of the CUDA runtime may fail, and so may an earlier launch.
inline void check(cudaError_t status, const char* what)
{
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
    std::exit(EXIT_FAILURE);
}

// Return how many actual[r * cols + c] are not RMSNorm's within float32's rounding.
static std::size_t count_wrong(const std::vector<float>& input, const std::vector<float>& weight,
                               float epsilon, const std::vector<float>& actual)
{
    std::size_t wrong = actual.size();  // as long as nobody has looked
    // TODO(student): about 15 lines
    // A host loop in double, row by row. Count what is not close rather than what is far:
    // no comparison holds for a not-a-number, so "far" would let it pass.
    wrong = 0;
    const std::size_t cols = weight.size();
    for (std::size_t row = 0; row < input.size(); row += cols) {
        double sum = 0.0;
        for (std::size_t c = 0; c < cols; ++c) {
            const double x = input[row + c];
            sum += x * x;
        }
        const double rms = std::sqrt(sum / cols + epsilon);
        for (std::size_t c = 0; c < cols; ++c) {
            const double expected = static_cast<double>(input[row + c]) * weight[c] / rms;
            const bool close = std::fabs(actual[row + c] - expected) <= 5e-5 * std::fabs(expected);
            if (!close) ++wrong;
        }
    }
    // end
    return wrong;
}

int main()
{
    constexpr int rows = 67, cols = 1021;  // primes: no block size divides them
    constexpr int n = rows * cols;
    constexpr float epsilon = 0.125f;  // large enough to be missed
    std::vector<float> input(n), weight(cols), output(n, NAN);
    for (int i = 0; i < n; ++i) input[i] = -1.0f + 3.0f * i / n;
    for (int c = 0; c < cols; ++c) weight[c] = 0.5f + c % 7;

    // TODO(student): about 15 lines
    // Device memory for the three arrays; input and weight go there, the output comes back.
    const std::size_t bytes = n * sizeof(float), weight_bytes = cols * sizeof(float);
    float *d_input = nullptr, *d_weight = nullptr, *d_output = nullptr;
    check(cudaMalloc(&d_input, bytes), "cudaMalloc");
    check(cudaMalloc(&d_weight, weight_bytes), "cudaMalloc");
    check(cudaMalloc(&d_output, bytes), "cudaMalloc");
    check(cudaMemcpy(d_input, input.data(), bytes, cudaMemcpyHostToDevice), "copy to device");
    check(cudaMemcpy(d_weight, weight.data(), weight_bytes, cudaMemcpyHostToDevice),
          "copy to device");
    // Launch, then ask twice: a launch can be refused, and a kernel can fail later.
    rms_norm_matrix(d_input, d_weight, d_output, rows, cols, epsilon);
    check(cudaGetLastError(), "launch");
    check(cudaDeviceSynchronize(), "kernel");
    check(cudaMemcpy(output.data(), d_output, bytes, cudaMemcpyDeviceToHost), "copy to host");
    check(cudaFree(d_input), "cudaFree");
    check(cudaFree(d_weight), "cudaFree");
    check(cudaFree(d_output), "cudaFree");
    // end

    const std::size_t wrong = count_wrong(input, weight, epsilon, output);
    std::printf("rms_norm_matrix: %zu of %d elements are wrong\n", wrong, n);
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
