// tool: synccheck
// gpu: it hangs: half the warp waits in the shuffle, half at the barrier, and synccheck has nothing to report until a wait ends
#include "../memory.cuh"
__global__ void half(int* out) {
    int v = threadIdx.x;
    if (threadIdx.x < 16) v = __shfl_xor_sync(0xffffffff, v, 1);  // FAULT barrier
    __syncthreads();
    out[threadIdx.x] = v;
}
int main() {
    int* out = blank<int>(32);
    half<<<1, 32>>>(out);
    return finish(out);
}
