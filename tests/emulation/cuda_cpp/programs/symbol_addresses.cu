#include <cuda_runtime.h>
#include "expect.cuh"
__device__ int counters[4];
__constant__ float weights[2];
__managed__ int both[2] = {7, 8};
int beside = 3;
template <class T> __device__ T generic = T(1);
__global__ void add(float* out) {
    atomicAdd(&counters[threadIdx.x], (int)weights[1] + both[0]);
    out[threadIdx.x] = (float)counters[threadIdx.x] * generic<float>;
}
int main() {
    int* c;
    float *w, *g;
    EXPECT(cudaGetSymbolAddress((void**)&c, counters) == cudaSuccess);
    EXPECT(cudaGetSymbolAddress((void**)&w, weights) == cudaSuccess);
    EXPECT(cudaGetSymbolAddress(&g, generic<float>) == cudaSuccess);
    EXPECT(cudaMemset(c, 0, sizeof counters) == cudaSuccess);
    EXPECT(cudaMemsetAsync(c + 3, 1, sizeof(int)) == cudaSuccess);
    float host[2] = {1, 2}, two = 2;
    EXPECT(cudaMemcpy(w, host, sizeof host, cudaMemcpyHostToDevice) == cudaSuccess);
    EXPECT(cudaMemcpy(g, &two, sizeof two, cudaMemcpyHostToDevice) == cudaSuccess);
    float* out = device<float>(4);
    add<<<1, 4>>>(out);
    EXPECT(at(out, 0) == 18.0f);
    int back[4];
    EXPECT(cudaMemcpyAsync(back, c, sizeof back, cudaMemcpyDeviceToHost, 0) == cudaSuccess);
    EXPECT(cudaStreamSynchronize(0) == cudaSuccess && back[0] == 9 && back[3] == 0x01010101 + 9);
    EXPECT(cudaMemcpy(c, c + 2, 2 * sizeof(int), cudaMemcpyDeviceToDevice) == cudaSuccess && at(c, 1) == back[3]);
    EXPECT(cudaMemcpy(back, c, sizeof(int), cudaMemcpyDefault) == cudaSuccess);
    EXPECT(cudaMemcpy2D(c, 8, back, 8, 4, 2, cudaMemcpyHostToDevice) == cudaSuccess);
    // Managed variables and the host's own variables are unchanged.
    EXPECT(cudaMemcpy(both, back, sizeof both, cudaMemcpyHostToDevice) == cudaSuccess);
    EXPECT(cudaMemcpy(both, out, sizeof both, cudaMemcpyDeviceToHost) == cudaSuccess);
    EXPECT(cudaMemset(both, 0, sizeof both) == cudaSuccess && both[1] == 0);
    EXPECT(cudaMemcpy(out, &beside, sizeof beside, cudaMemcpyHostToDevice) == cudaSuccess);
    cudaPointerAttributes attributes;
    EXPECT(cudaPointerGetAttributes(&attributes, c) == cudaSuccess && attributes.type == cudaMemoryTypeDevice);
    EXPECT(cudaPointerGetAttributes(&attributes, both) == cudaSuccess && attributes.type == cudaMemoryTypeManaged);
    cudaFree(out);
    return failures;
}
