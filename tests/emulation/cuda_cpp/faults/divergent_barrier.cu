// tool: synccheck
#include "../memory.cuh"
__global__ void diverge(int* out) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    if (threadIdx.x % 2 == 0) {
        __syncthreads();  // FAULT barrier
        out[threadIdx.x] = s[threadIdx.x];
    } else {
        __syncthreads();
        out[threadIdx.x] = -s[threadIdx.x];
    }
}
int main() {
    int* out = blank<int>(64);
    diverge<<<1, 64>>>(out);
    return finish(out);
}
