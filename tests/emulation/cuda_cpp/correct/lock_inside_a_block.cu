#include "../memory.cuh"
__global__ void add(int* total, int* lock) {
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        __threadfence();
        *total = *total + 1;
        __threadfence();
        atomicExch(lock, 0);
    }
}
int main() {
    int* total = zeros<int>(1);
    int* lock = zeros<int>(1);
    add<<<1, 256>>>(total, lock);
    return finish(total, lock);
}
