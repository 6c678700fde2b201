// Correct, but the CPU does the work: copied back, computed in a loop, copied up again.
#include "silu.h"

#include <cmath>
#include <vector>

extern "C" void silu(const float* input, float* output, int n)
{
    std::vector<float> x(n);
    cudaMemcpy(x.data(), input, n * sizeof(float), cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; ++i) x[i] = x[i] / (1.0f + std::exp(-x[i]));
    cudaMemcpy(output, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
}
