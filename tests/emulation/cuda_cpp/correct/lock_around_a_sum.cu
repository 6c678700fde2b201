// The lock's atomics and fences order what it protects.
#include "../memory.cuh"
__device__ int lock = 0;
__global__ void add(int* total) {
    if (threadIdx.x == 0) {
        while (atomicCAS(&lock, 0, 1) != 0) {
        }
        __threadfence();
        *total += blockIdx.x;
        __threadfence();
        atomicExch(&lock, 0);
    }
}
int main() {
    int* total = zeros<int>(1);
    add<<<20, 32>>>(total);
    return finish(total);
}
