// tool: racecheck
// gpu: racecheck sees shared memory only
#include "../memory.cuh"
__global__ void count(int* total) {
    if (threadIdx.x == 0) *total += 1;  // FAULT race
}
int main() {
    int* total = zeros<int>(1);
    count<<<8, 32>>>(total);
    return finish(total);
}
