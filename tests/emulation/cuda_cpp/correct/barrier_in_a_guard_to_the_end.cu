// Behind the branch the kernel ends, so the compiler lets the other threads return.
#include "../memory.cuh"
__global__ void mark(int* out) {
    if (threadIdx.x < 48) {
        __syncthreads();
        out[threadIdx.x] = 1;
    }
}
int main() {
    int* out = blank<int>(64);
    mark<<<1, 64>>>(out);
    return finish(out);
}
