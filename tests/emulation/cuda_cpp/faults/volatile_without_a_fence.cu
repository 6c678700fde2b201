// tool: racecheck
// gpu: racecheck sees shared memory only
#include "../memory.cuh"
__global__ void store(volatile int* a) {
    if (threadIdx.x % 32 == 0) a[0] = threadIdx.x;  // FAULT race warning
}
int main() {
    int* a = blank<int>(1);
    store<<<1, 64>>>(a);
    return finish(a);
}
