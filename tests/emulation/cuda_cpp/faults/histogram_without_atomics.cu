// tool: racecheck
#include "../memory.cuh"
__global__ void histogram(const int* in, int* out) {
    __shared__ int bins[8];
    if (threadIdx.x < 8) bins[threadIdx.x] = 0;
    __syncthreads();
    bins[in[threadIdx.x] % 8] += 1;  // FAULT race
    __syncthreads();
    if (threadIdx.x < 8) out[threadIdx.x] = bins[threadIdx.x];
}
int main() {
    int* in = numbered<int>(256);
    int* out = blank<int>(8);
    histogram<<<1, 256>>>(in, out);
    return finish(in, out);
}
