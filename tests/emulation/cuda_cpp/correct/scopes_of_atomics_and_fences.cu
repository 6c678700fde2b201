// Each block has its own counter; the last of both blocks reads what a wide fence has released.
#include "../memory.cuh"
__device__ int arrived;
__global__ void count(int* counters, int* out) {
    atomicAdd_block(&counters[blockIdx.x], 1);
    __threadfence_block();
    __syncthreads();
    if (threadIdx.x > 0) return;
    __threadfence();
    if (atomicAdd_system(&arrived, 1) == 1) *out = counters[0] + counters[1];
}
int main() {
    int *counters = zeros<int>(2), *out = blank<int>(1);
    count<<<2, 64>>>(counters, out);
    return finish(counters, out);
}
