// tool: memcheck
// gpu: the freed memory stays in the pool, and is mapped
#include "../memory.cuh"
__global__ void fill(int* data) { data[threadIdx.x] = threadIdx.x; }
__global__ void add(const int* from, int* to) { to[threadIdx.x] += from[threadIdx.x]; }
int main() {
    int* data = zeros<int>(32);
    cudaStream_t first, second;
    cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
    cudaEvent_t filled, added;
    cudaEventCreate(&filled);
    cudaEventCreate(&added);
    for (int ordered = 1; ordered >= 0; --ordered) {
        int* part;
        cudaMallocAsync(&part, 32 * sizeof(int), first);
        fill<<<1, 32, 0, first>>>(part);
        cudaEventRecord(filled, first);
        cudaStreamWaitEvent(second, filled, 0);
        add<<<1, 32, 0, second>>>(part, data);
        cudaEventRecord(added, second);
        if (ordered) {
            cudaStreamWaitEvent(first, added, 0);
            cudaFreeAsync(part, first);
        } else {
            cudaFreeAsync(part, first);  // FAULT race
        }
    }
    cudaDeviceSynchronize();
    cudaEventDestroy(filled);
    cudaEventDestroy(added);
    cudaStreamDestroy(first);
    cudaStreamDestroy(second);
    return finish(data);
}
