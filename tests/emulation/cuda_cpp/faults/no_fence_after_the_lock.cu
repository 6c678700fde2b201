// tool: racecheck
// gpu: racecheck sees shared memory only
#include "../memory.cuh"
__device__ int lock, total;
__global__ void enter() {
    if (threadIdx.x % 32 != 0) return;
    while (atomicCAS(&lock, 0, 1) != 0) {
    }
    total += 1;  // FAULT race warning
    __threadfence();
    atomicExch(&lock, 0);
}
int main() {
    enter<<<1, 64>>>();
    return finish<>();
}
