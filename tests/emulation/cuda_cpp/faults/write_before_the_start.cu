// tool: memcheck
#include "../memory.cuh"
__global__ void shift(int* data) {
    int i = threadIdx.x;
    data[i - 1] = i;  // FAULT out_of_bounds
}
int main() {
    int* data = zeros<int>(64);
    shift<<<1, 64>>>(data);
    return finish(data);
}
