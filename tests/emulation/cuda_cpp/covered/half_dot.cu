#include <cuda_fp16.h>
#include "result.cuh"
__global__ void dot(const half2* a, const half2* b, float* out, int n) {
    __shared__ float part[64];
    half2 sum = __float2half2_rn(0.0f);
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum = __hfma2(a[i], b[i], sum);
    part[threadIdx.x] = __low2float(sum) + __high2float(sum);
    for (int d = 32; d > 0; d /= 2) {
#ifndef PLANTED
        __syncthreads();
#endif
        if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d];  // FAULT race
    }
    if (threadIdx.x == 0) *out = part[0];
}
int main() {
    half2* a = filled<half2>(256, [](int i) { return __floats2half2_rn((float)(i % 3), 0.5f); });
    half2* b = filled<half2>(256, [](int i) { return __floats2half2_rn(0.25f, (float)(i % 5 - 2)); });
    float* out = zeros<float>(1);
    dot<<<1, 64>>>(a, b, out, 256);
    show("dot", out, 1);
    cudaFree(a);
    cudaFree(b);
}
