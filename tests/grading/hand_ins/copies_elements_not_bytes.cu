// The width of a copy is one byte instead of one element.
#include <vector>

extern "C" void silu(const float* input, float* output, int n)
{
    std::vector<float> x(n);
    cudaMemcpy(x.data(), input, n * sizeof(float), cudaMemcpyDeviceToHost);
    for (float& value : x) value = value / (1.0f + expf(-value));
    cudaMemcpy2D(output, sizeof(float), x.data(), sizeof(float), 1, n, cudaMemcpyHostToDevice);
}
