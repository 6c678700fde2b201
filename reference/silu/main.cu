// A program around your kernel: allocate, launch, verify, exit 0 if it is right.
//
// Build it  nvcc -o main main.cu silu.cu
// Grade it  grade local silu --language cuda
// It proves something only if it can tell: exit 0 with a right silu(), 1 with a wrong one.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#include "silu.h"

// Every call of the CUDA runtime may fail, and so may an earlier launch.
inline void check(cudaError_t status, const char* what)
{
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
    std::exit(EXIT_FAILURE);
}

// Return how many actual[i] are not silu(input[i]) within float32's rounding.
static std::size_t count_wrong(const std::vector<float>& input, const std::vector<float>& actual)
{
    std::size_t wrong = input.size();  // as long as nobody has looked
    // TODO(student): about 7 lines
    // A host loop in double. Count what is not close rather than what is far:
    // no comparison holds for a not-a-number, so "far" would let it pass.
    wrong = 0;
    for (std::size_t i = 0; i < input.size(); ++i) {
        const double x = input[i];
        const double expected = x / (1.0 + std::exp(-x));
        const bool close = std::fabs(actual[i] - expected) <= 1e-7 + 1e-5 * std::fabs(expected);
        if (!close) ++wrong;
    }
    // end
    return wrong;
}

int main()
{
    constexpr int n = 100003;  // a prime: no block size divides it
    std::vector<float> input(n), output(n, NAN);
    for (int i = 0; i < n; ++i) input[i] = -100.0f + 200.0f * i / n;

    // TODO(student): about 10 lines
    // Device memory for both arrays; the input goes there, the output comes back.
    const std::size_t bytes = n * sizeof(float);
    float *d_input = nullptr, *d_output = nullptr;
    check(cudaMalloc(&d_input, bytes), "cudaMalloc");
    check(cudaMalloc(&d_output, bytes), "cudaMalloc");
    check(cudaMemcpy(d_input, input.data(), bytes, cudaMemcpyHostToDevice), "copy to device");
    // Launch, then ask twice: a launch can be refused, and a kernel can fail later.
    silu(d_input, d_output, n);
    check(cudaGetLastError(), "launch");
    check(cudaDeviceSynchronize(), "kernel");
    check(cudaMemcpy(output.data(), d_output, bytes, cudaMemcpyDeviceToHost), "copy to host");
    check(cudaFree(d_input), "cudaFree");
    check(cudaFree(d_output), "cudaFree");
    // end

    const std::size_t wrong = count_wrong(input, output);
    std::printf("silu: %zu of %d elements are wrong\n", wrong, n);
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
