// tool: memcheck
#include "../memory.cuh"
__global__ void set(int* out) {
    out[threadIdx.x] = 1;  // FAULT out_of_bounds
}
int main() {
    set<<<1, 32>>>(nullptr);
    return finish((int*)nullptr);
}
