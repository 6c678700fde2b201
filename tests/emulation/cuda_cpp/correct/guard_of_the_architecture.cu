// Code for older GPUs is left out, as on a current one.
#include "../memory.cuh"
#if __CUDA_ARCH__ >= 700
#define SYNC_WARP() __syncwarp()
#else
#define SYNC_WARP()
#endif
__global__ void turn(int* data) {
    __shared__ int tile[32];
    tile[threadIdx.x] = data[threadIdx.x];
    SYNC_WARP();
    data[threadIdx.x] = tile[31 - threadIdx.x];
}
int main() {
    int* data = numbered<int>(32);
    turn<<<1, 32>>>(data);
    return finish(data);
}
