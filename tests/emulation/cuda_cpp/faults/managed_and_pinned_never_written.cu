// tool: initcheck
// gpu: initcheck checks memory of cudaMalloc only
#include "../memory.cuh"
__global__ void add(int* a, const int* b) {
    a[threadIdx.x] += 1;  // FAULT uninitialized
    a[threadIdx.x] += b[threadIdx.x];  // FAULT uninitialized
}
int main() {
    int *managed, *pinned;
    cudaMallocManaged(&managed, 32 * sizeof(int));
    cudaMallocHost(&pinned, 64 * sizeof(int));
    for (int i = 0; i < 16; ++i) pinned[i] = i;
    add<<<1, 32>>>(managed, pinned);
    cudaDeviceSynchronize();
    int read = pinned[40];  // FAULT uninitialized
    cudaFree(managed);
    cudaFreeHost(pinned);
    return read > 0;
}
