// tool: racecheck
// gpu: racecheck sees shared memory only
#include "../memory.cuh"
// The value is there by luck: the next total is another one.
__global__ void read_total(int* total, int* out) {
    if (threadIdx.x == 0) *total = 0;  // FAULT race
    out[threadIdx.x] = *total;
}
int main() {
    int* total = zeros<int>(1);
    int* out = blank<int>(64);
    read_total<<<1, 64>>>(total, out);
    return finish(total, out);
}
