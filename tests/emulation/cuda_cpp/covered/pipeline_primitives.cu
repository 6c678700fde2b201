#include <cuda_pipeline.h>
#include "result.cuh"
__global__ void neighbours(const float4* in, float* out) {
    __shared__ float4 tile[64];
    __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], sizeof(float4));
    __pipeline_commit();
#ifndef PLANTED
    __pipeline_wait_prior(0);
#endif
    __syncthreads();
    out[threadIdx.x] = tile[(threadIdx.x + 1) % 64].x + tile[threadIdx.x].w;  // FAULT uninitialized
}
int main() {
    float4* in = filled<float4>(64, [](int i) { return make_float4(i, 2 * i, 3 * i, 4 * i); });
    float* out = zeros<float>(64);
    neighbours<<<1, 64>>>(in, out);
    show("neighbours", out, 64);
    cudaFree(in);
}
