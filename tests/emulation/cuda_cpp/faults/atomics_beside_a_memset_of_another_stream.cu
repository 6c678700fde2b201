// tool: racecheck
// gpu: racecheck sees shared memory only
#include "../memory.cuh"
__global__ void count(int* total) { atomicAdd(total, 1); }  // FAULT race
int main() {
    int* total = zeros<int>(1);
    cudaStream_t clears, counts;
    cudaStreamCreateWithFlags(&clears, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&counts, cudaStreamNonBlocking);
    cudaMemsetAsync(total, 0, sizeof(int), clears);
    count<<<2, 32, 0, counts>>>(total);  // an atomic does not wait for the zeros
    cudaDeviceSynchronize();
    cudaStreamDestroy(clears);
    cudaStreamDestroy(counts);
    return finish(total);
}
