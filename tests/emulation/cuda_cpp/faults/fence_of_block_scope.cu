// tool: racecheck
// gpu: racecheck sees shared memory only
#include "../memory.cuh"
__device__ int arrived;
__global__ void last_reads(int* data, int* out) {
    data[blockIdx.x] = blockIdx.x;
    __threadfence_block();
    if (atomicAdd(&arrived, 1) == 1) *out = data[0] + data[1];  // FAULT race
}
int main() {
    int *data = blank<int>(2), *out = blank<int>(1);
    last_reads<<<2, 1>>>(data, out);
    return finish(data, out);
}
