// tool: racecheck
// gpu: racecheck sees shared memory only
#include "../memory.cuh"
__global__ void fill(char* p) {
    for (int i = 0; i < 6; ++i) p[4 * threadIdx.x + 1 + i] = threadIdx.x + 1;  // FAULT race
}
int main() {
    char* p = blank<char>(64);
    fill<<<1, 2>>>(p);
    return finish(p);
}
