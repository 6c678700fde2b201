// tool: memcheck
// gpu: memcheck reports device memory only
#include "../memory.cuh"
__global__ void fill(int* a, int* b) { a[threadIdx.x] = b[threadIdx.x] = 1; }
int main() {
    int *managed, *pinned;
    cudaMallocManaged(&managed, 32 * sizeof(int));  // FAULT leak
    cudaMallocHost(&pinned, 32 * sizeof(int));  // FAULT leak
    fill<<<1, 32>>>(managed, pinned);
    cudaDeviceSynchronize();
    return 0;
}
