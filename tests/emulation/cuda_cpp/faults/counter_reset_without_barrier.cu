// tool: racecheck
// gpu: racecheck does not compare atomic accesses with plain ones
#include "../memory.cuh"
__global__ void count(const int* in, int* out) {
    __shared__ int even;
    if (threadIdx.x == 0) even = 0;
    if (in[threadIdx.x] % 2 == 0) atomicAdd(&even, 1);  // FAULT race
    __syncthreads();
    if (threadIdx.x == 0) *out = even;
}
int main() {
    int* in = numbered<int>(128);
    int* out = blank<int>(1);
    count<<<1, 128>>>(in, out);
    return finish(in, out);
}
