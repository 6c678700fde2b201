// tool: synccheck
#include "memory.cuh"
__global__ void shift(int* out) {
    int v = threadIdx.x;
    v = __shfl_down_sync(0x0000ffff, v, 1);  // FAULT barrier
    out[threadIdx.x] = v;
}
int main() {
    int* out = blank<int>(32);
    shift<<<1, 32>>>(out);
    return finish(out);
}
