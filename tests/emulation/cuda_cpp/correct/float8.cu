#include <cuda_fp8.h>
#include "../memory.cuh"
__global__ void twice(const __nv_fp8_e4m3* x, __nv_fp8_e5m2* y, int n) {
    int i = threadIdx.x;
    if (i < n) y[i] = __nv_fp8_e5m2(2.0f * float(x[i]));
}
int main() {
    __nv_fp8_e4m3 host[16];
    for (int i = 0; i < 16; ++i) host[i] = __nv_fp8_e4m3(float(i));
    __nv_fp8_e4m3* x = zeros<__nv_fp8_e4m3>(16);
    __nv_fp8_e5m2 *y = zeros<__nv_fp8_e5m2>(16), doubled[16];
    cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
    twice<<<1, 32>>>(x, y, 16);
    cudaMemcpy(doubled, y, sizeof doubled, cudaMemcpyDeviceToHost);
    bool right = float(doubled[8]) == 16.0f && float(doubled[9]) == 16.0f && float(doubled[11]) == 24.0f;
    bool saturates = float(__nv_fp8_e4m3(1e9f)) == 448.0f && float(__nv_fp8_e5m2(-INFINITY)) == -57344.0f;
    return finish(x, y) + !right + !saturates;
}
