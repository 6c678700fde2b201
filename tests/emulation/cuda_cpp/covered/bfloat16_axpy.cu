#include <cuda_bf16.h>
#include "result.cuh"
__global__ void axpy(const __nv_bfloat16* x, __nv_bfloat16* y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n + PLANT(1, 0)) y[i] = __float2bfloat16(a * __bfloat162float(x[i]) + __bfloat162float(y[i]));  // FAULT out_of_bounds
}
__global__ void pairs(const __nv_bfloat162* x, float* out) {
    __nv_bfloat162 v = __hfma2(x[threadIdx.x], x[threadIdx.x], __float2bfloat162_rn(1.0f));
    out[threadIdx.x] = __low2float(v) + (float)(v.y * __nv_bfloat16(2.0f)) + (float)hsqrt(v.x);
}
__global__ void widen(const __nv_bfloat16* x, float* out) { out[threadIdx.x] = __bfloat162float(x[threadIdx.x]); }
int main() {
    const int n = 99;
    auto value = [](int i) { return __float2bfloat16(i * 0.37f - 5); };
    __nv_bfloat16* x = filled<__nv_bfloat16>(n + 1, value);
    __nv_bfloat16* y = filled<__nv_bfloat16>(n, value);
    float* out = zeros<float>(n);
    axpy<<<2, 64>>>(x, y, 1.5f, n);
    widen<<<1, n>>>(y, out);
    show("axpy", out, n);
    out = zeros<float>(32);
    pairs<<<1, 32>>>((const __nv_bfloat162*)x, out);
    show("pairs", out, 32);
    cudaFree(x);
    cudaFree(y);
}
