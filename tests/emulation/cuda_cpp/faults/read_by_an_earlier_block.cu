// tool: racecheck
// gpu: racecheck sees shared memory only
// The writing block reads the word first: the earlier block's read still counts.
#include "../memory.cuh"
__global__ void add_next(int* a) {
    int i = blockIdx.x * 32 + threadIdx.x;
    a[i] += a[i + 32];  // FAULT race
}
int main() {
    int* a = numbered<int>(160);
    add_next<<<4, 32>>>(a);
    return finish(a);
}
