// tool: memcheck
// gpu: no device tool checks host code
#include "../memory.cuh"
__global__ void fill(int* out) { out[threadIdx.x] = threadIdx.x; }
int main() {
    int* pinned;
    cudaMallocHost(&pinned, 10 * sizeof(int));
    fill<<<1, 10>>>(pinned);
    cudaDeviceSynchronize();
    for (int i = 0; i <= 10; ++i) pinned[i] += 1;  // FAULT out_of_bounds
    cudaFreeHost(pinned);
    return 0;
}
