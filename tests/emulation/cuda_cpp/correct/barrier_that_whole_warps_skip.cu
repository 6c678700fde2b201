// Warps that go around a barrier and then end count as arrived, as if they had returned before it.
// gpu: synccheck may report the barrier, because it meets threads that have not ended yet
#include "../memory.cuh"
__global__ void mark(int* out) {
    if (threadIdx.x < 32) __syncthreads();
    out[threadIdx.x] = 1;
}
int main() {
    int* out = blank<int>(64);
    mark<<<1, 64>>>(out);
    return finish(out);
}
