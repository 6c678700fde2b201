#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include "../memory.cuh"
__global__ void axpy(const __nv_bfloat162* x, __nv_bfloat162* y, float a, int n) {
    int i = threadIdx.x;
    __nv_bfloat162 factor = __float2bfloat162_rn(a);
    if (i < n) y[i] = __hfma2(factor, x[i], y[i]);
}
__global__ void sum(const __nv_bfloat16* x, float* out, int n) {
    float total = 0;
    for (int i = 0; i < n; ++i) total += __bfloat162float(x[i]) + __half2float(__float2half(1.0f));
    *out = total;
}
int main() {
    __nv_bfloat16 host[64];
    for (int i = 0; i < 64; ++i) host[i] = __float2bfloat16(i);
    __nv_bfloat16 *x = zeros<__nv_bfloat16>(64), *y = zeros<__nv_bfloat16>(64);
    float* out = blank<float>(1);
    cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
    axpy<<<1, 32>>>((__nv_bfloat162*)x, (__nv_bfloat162*)y, 2.0f, 32);
    sum<<<1, 1>>>(y, out, 64);
    float total = 0;
    cudaMemcpy(&total, out, sizeof total, cudaMemcpyDeviceToHost);
    // 257 lies between 256 and 258, and the even one wins; NaN and infinity stay.
    bool rounds = __bfloat162float(__float2bfloat16(257.0f)) == 256.0f && __hisnan(__float2bfloat16(NAN)) &&
                  __hisinf(__float2bfloat16(-INFINITY)) == -1;
    return finish(x, y, out) + (total != 2 * 63 * 32 + 64) + !rounds;
}
