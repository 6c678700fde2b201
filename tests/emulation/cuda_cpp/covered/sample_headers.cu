#include <cuda_runtime.h>
#include "helper_sample.h"
#include "result.cuh"
__global__ void vector_add(const float* a, const float* b, float* c, int n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (PLANT(i <= n, i < n)) c[i] = a[i] + b[i];  // FAULT out_of_bounds
}
int main() {
    find_device();
    const int n = 500;
    float* a = filled<float>(n, [](int i) { return i * 0.5f; });
    float* b = filled<float>(n, [](int i) { return 100.0f - i; });
    float* c = zeros<float>(n);
    vector_add<<<(n + 255) / 256, 256>>>(a, b, c, n);
    checkErrors(cudaGetLastError());
    checkErrors(cudaDeviceSynchronize());
    show("sum", c, n);
    cudaFree(a);
    cudaFree(b);
}
