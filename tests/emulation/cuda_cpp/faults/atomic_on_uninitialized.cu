// tool: initcheck
#include "../memory.cuh"
__global__ void count(int* total) {
    atomicAdd(total, 1);  // FAULT uninitialized
}
int main() {
    int* total = blank<int>(1);
    count<<<1, 32>>>(total);
    return finish(total);
}
