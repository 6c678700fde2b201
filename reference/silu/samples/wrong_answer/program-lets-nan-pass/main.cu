// A not-a-number passes `difference > tolerance`.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#include "silu.h"

int main()
{
    const int n = 5000;
    std::vector<float> input(n), output(n);
    for (int i = 0; i < n; ++i) input[i] = -10.0f + 20.0f * i / n;

    const std::size_t bytes = n * sizeof(float);
    float *d_input = nullptr, *d_output = nullptr;
    cudaMalloc(&d_input, bytes);
    cudaMalloc(&d_output, bytes);
    cudaMemcpy(d_input, input.data(), bytes, cudaMemcpyHostToDevice);
    silu(d_input, d_output, n);
    cudaMemcpy(output.data(), d_output, bytes, cudaMemcpyDeviceToHost);
    cudaFree(d_input);
    cudaFree(d_output);

    int wrong = 0;
    for (int i = 0; i < n; ++i) {
        const float expected = input[i] / (1.0f + std::exp(-input[i]));
        if (std::fabs(output[i] - expected) > 1e-5f) ++wrong;
    }
    std::printf("%d of %d elements are wrong\n", wrong, n);
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
