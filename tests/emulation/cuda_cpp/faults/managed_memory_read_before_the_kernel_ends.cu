// tool: racecheck
// gpu: no device tool checks host code
#include "../memory.cuh"
__global__ void fill(int* out) { out[threadIdx.x] = threadIdx.x; }
int main() {
    int* out;
    cudaMallocManaged(&out, 32 * sizeof(int));
    fill<<<1, 32>>>(out);
    int last = out[31];  // FAULT race
    cudaDeviceSynchronize();
    cudaFree(out);
    return last < 0;
}
