// tool: racecheck
// gpu: racecheck sees shared memory only
#include "../memory.cuh"
__device__ unsigned arrived = 0;
__global__ void sum(const int* in, int* part, int* out) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        part[blockIdx.x] = in[blockIdx.x];
        last = atomicAdd(&arrived, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int total = 0;
        for (int b = 0; b < gridDim.x; ++b) total += part[b];  // FAULT race
        *out = total;
    }
}
int main() {
    int* in = numbered<int>(8);
    int* part = blank<int>(8);
    int* out = blank<int>(1);
    sum<<<8, 32>>>(in, part, out);
    return finish(in, part, out);
}
