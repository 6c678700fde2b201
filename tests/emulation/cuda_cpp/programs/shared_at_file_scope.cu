// Shared memory declared at file scope, in many launches of two kernels.
#include "expect.cuh"
__shared__ int tile[32], total;
extern __shared__ float pool[];
__global__ void first(int* out) {
    tile[threadIdx.x] = threadIdx.x;
    if (threadIdx.x == 0) total = 5;
    __syncthreads();
    out[threadIdx.x] = tile[31 - threadIdx.x] + total;
}
__global__ void second(int* out) {
    __shared__ int own[32];
    pool[threadIdx.x] = 100;
    own[threadIdx.x] = threadIdx.x;
    tile[threadIdx.x] = 1000;
    __syncthreads();
    int other = 31 - threadIdx.x;
    out[threadIdx.x] = tile[other] + own[other] + pool[other];
}
int main() {
    int* out = device<int>(32);
    for (int size = 128; size <= 32768; size *= 4) {
        first<<<1, 32>>>(out);
        EXPECT(at(out, 0) == 36);
        second<<<1, 32, size>>>(out);
        EXPECT(at(out, 0) == 1131);
    }
    EXPECT(cudaGetLastError() == cudaSuccess);
    cudaFree(out);
    return failures;
}
