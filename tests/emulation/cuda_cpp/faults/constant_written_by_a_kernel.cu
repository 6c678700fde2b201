// tool: memcheck
// gpu: nvcc refuses the assignment, or the store fails
#include "../memory.cuh"
__constant__ int weights[4];
__global__ void scale() {
    weights[threadIdx.x] = 1;  // FAULT out_of_bounds
}
int main() {
    scale<<<1, 4>>>();
    return finish();
}
