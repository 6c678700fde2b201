// expect: message="accepted the output (exit code 0), but" check=program
// Prints PASS whatever the kernel has done.
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

    std::printf("PASS\n");
    return 0;
}
