// tool: synccheck
#include "../memory.cuh"
__global__ void loop(int* out) {
    for (unsigned i = 0; i <= threadIdx.x / 32; ++i) {
        out[threadIdx.x] = i;
        __syncthreads();  // FAULT barrier
    }
    out[threadIdx.x] += 1;
    __syncthreads();
}
int main() {
    int* out = blank<int>(64);
    loop<<<1, 64>>>(out);
    return finish(out);
}
