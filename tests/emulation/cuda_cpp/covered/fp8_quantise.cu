#include <cuda_fp8.h>
#include "result.cuh"
__global__ void quantise(const float* x, __nv_fp8_e4m3* q, __nv_fp8_e5m2* r, int n) {
    int i = threadIdx.x;
    if (i < n - PLANT(1, 0)) {
        q[i] = __nv_fp8_e4m3(x[i]);
        r[i] = __nv_fp8_e5m2(x[i] * 50);
    }
}
__global__ void restore(const __nv_fp8_e4m3* q, const __nv_fp8_e5m2* r, float* out) {
    int i = threadIdx.x;
    out[i] = float(q[i]);                   // FAULT uninitialized
    out[i] += PLANT(0.0f, float(r[i]));
}
int main() {
    const int n = 64;
    float* x = filled<float>(n, [](int i) { return (i - 30) * 0.83f * (i % 5 ? 1 : 40); });
    float* out = zeros<float>(n);
    __nv_fp8_e4m3* q;
    __nv_fp8_e5m2* r;
    cudaMalloc(&q, n);
    cudaMalloc(&r, n);
    quantise<<<1, n>>>(x, q, r, n);
    restore<<<1, n>>>(q, r, out);
    show("restored", out, n);
    cudaFree(x);
    cudaFree(q);
    cudaFree(r);
}
