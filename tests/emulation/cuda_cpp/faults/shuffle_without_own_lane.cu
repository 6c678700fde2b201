// tool: synccheck
// gpu: synccheck looks at the masks of __syncwarp and barriers, not at those of shuffles
#include "../memory.cuh"
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
