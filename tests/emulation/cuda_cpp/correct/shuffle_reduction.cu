#include "../memory.cuh"
__device__ int warp_sum(int v) {
    for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
    return v;
}
__global__ void sum(const int* in, int* out) {
    __shared__ int parts[8];
    int v = warp_sum(in[threadIdx.x]);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < 8 ? parts[threadIdx.x] : 0;
        v = warp_sum(v);
        if (threadIdx.x == 0) *out = v;
    }
}
int main() {
    int* in = numbered<int>(256);
    int* out = blank<int>(1);
    sum<<<1, 256>>>(in, out);
    return finish(in, out);
}
