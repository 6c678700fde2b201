// tool: memcheck
// gpu: a small overrun of shared memory stays inside the block's allocation, which is all a GPU's tool knows
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
