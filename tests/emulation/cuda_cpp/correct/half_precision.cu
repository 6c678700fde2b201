#include <cuda_fp16.h>
#include "../memory.cuh"
__global__ void axpy(const half2* x, half2* y, float a, int n) {
    int i = threadIdx.x;
    half2 factor = __float2half2_rn(a);
    if (i < n) y[i] = __hfma2(factor, x[i], y[i]);
}
__global__ void sum(const half* x, float* out, int n) {
    float total = 0;
    for (int i = 0; i < n; ++i) total += __half2float(x[i]);
    *out = total;
}
int main() {
    half host[64];
    for (int i = 0; i < 64; ++i) host[i] = __float2half(i);
    half *x = zeros<half>(64), *y = zeros<half>(64);
    float* out = blank<float>(1);
    cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
    axpy<<<1, 32>>>((half2*)x, (half2*)y, 2.0f, 32);
    sum<<<1, 1>>>(y, out, 64);
    float total = 0;
    cudaMemcpy(&total, out, sizeof total, cudaMemcpyDeviceToHost);
    return finish(x, y, out) + (total != 2 * 63 * 32);
}
