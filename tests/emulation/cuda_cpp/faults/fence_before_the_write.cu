// tool: racecheck
// gpu: racecheck sees shared memory only
#include "../memory.cuh"
__device__ int lock, last;
__global__ void enter() {
    while (atomicCAS(&lock, 0, 1) != 0) {
    }
    __threadfence();
    last = blockIdx.x;  // FAULT race
    atomicExch(&lock, 0);
}
int main() {
    enter<<<2, 1>>>();
    return finish<>();
}
