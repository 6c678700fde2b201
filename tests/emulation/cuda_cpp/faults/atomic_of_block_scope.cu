// tool: racecheck
// gpu: racecheck sees shared memory only
#include "../memory.cuh"
__global__ void count(int* total) {
    atomicAdd_block(total, 1);  // FAULT race
}
int main() {
    int* total = zeros<int>(1);
    count<<<2, 32>>>(total);
    return finish(total);
}
