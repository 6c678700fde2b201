// tool: memcheck
// gpu: memcheck knows allocations, and no variables.
#include "../memory.cuh"
__device__ float partial[64];
__global__ void each_block() {
    partial[blockIdx.x] = 1.0f;  // FAULT out_of_bounds
}
int main() {
    each_block<<<300, 1>>>();  // what lies behind the variable stays as it is
    return finish<float>(nullptr);
}
