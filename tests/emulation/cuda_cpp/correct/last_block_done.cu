// The fence and the atomic order the partial sums before the last block reads them.
#include "../memory.cuh"
__device__ unsigned arrived = 0;
__global__ void sum(const int* in, int* part, int* out) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        part[blockIdx.x] = in[blockIdx.x];
        __threadfence();
        last = atomicAdd(&arrived, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int total = 0;
        for (int b = 0; b < gridDim.x; ++b) total += part[b];
        *out = total;
        arrived = 0;
    }
}
int main() {
    int* in = numbered<int>(40);
    int* part = blank<int>(40);
    int* out = blank<int>(1);
    sum<<<40, 32>>>(in, part, out);
    return finish(in, part, out);
}
