// tool: racecheck
// gpu: racecheck sees shared memory only
#include "../memory.cuh"
__global__ void pass_on(int* data, int* flag, int* out) {
    if (threadIdx.x == 0) {
        *data = 1;  // FAULT race
        __threadfence();
        atomicExch(flag, 1);
    }
    if (threadIdx.x == 32) {
        atomicAdd(flag, 0);  // whatever it is: in another order the flag is not set yet
        __threadfence();
        *out = *data;
    }
}
int main() {
    int* memory = zeros<int>(3);
    pass_on<<<1, 64>>>(memory, memory + 1, memory + 2);
    return finish(memory);
}
