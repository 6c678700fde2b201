// tool: memcheck
// gpu: a GPU's tool checks local memory as one block per thread, and the compiler may keep the array in registers
#include "../memory.cuh"
__global__ void pick(const int* index, int* out) {
    int window[4] = {1, 2, 3, 4};
    out[threadIdx.x] = window[index[threadIdx.x]];  // FAULT out_of_bounds
}
int main() {
    int* index = numbered<int>(6);
    int* out = blank<int>(6);
    pick<<<1, 6>>>(index, out);
    return finish(index, out);
}
