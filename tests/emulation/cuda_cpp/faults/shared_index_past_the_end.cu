// tool: memcheck
// gpu: a GPU's tool knows only the block's allocation, and a small overrun stays inside it
#include "../memory.cuh"
__global__ void shift(float* out) {
    __shared__ float tile[64];
    tile[threadIdx.x + 1] = threadIdx.x;  // FAULT out_of_bounds
    __syncthreads();
    out[threadIdx.x] = threadIdx.x ? tile[threadIdx.x] : 0;
}
int main() {
    float* out = blank<float>(64);
    shift<<<1, 64>>>(out);
    return finish(out);
}
