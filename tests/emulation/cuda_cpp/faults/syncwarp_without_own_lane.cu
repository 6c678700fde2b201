// tool: synccheck
// gpu: the call is undefined, and the hardware may continue as if the mask had every lane
#include "../memory.cuh"
__global__ void swap(int* out) {
    __shared__ int tile[32];
    tile[threadIdx.x] = threadIdx.x;
    __syncwarp(0x0000ffff);  // FAULT barrier
    out[threadIdx.x] = tile[threadIdx.x];
}
int main() {
    int* out = blank<int>(32);
    swap<<<1, 32>>>(out);
    return finish(out);
}
