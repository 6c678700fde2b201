// tool: racecheck
// gpu: no device tool checks host code
#include "../memory.cuh"
__global__ void add(int* sums, const int* values) { sums[threadIdx.x] += values[threadIdx.x]; }
int main() {
    int* sums = zeros<int>(32);
    int* values = zeros<int>(32);
    int* pinned;
    cudaMallocHost(&pinned, 32 * sizeof(int));
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 32; ++i) pinned[i] = round + i;  // FAULT race
        cudaMemcpyAsync(values, pinned, 32 * sizeof(int), cudaMemcpyHostToDevice, stream);
        add<<<1, 32, 0, stream>>>(sums, values);
    }
    cudaMemcpyAsync(pinned, sums, 32 * sizeof(int), cudaMemcpyDeviceToHost, stream);
    int first = pinned[0];  // FAULT race
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
    cudaFreeHost(pinned);
    cudaFree(values);
    cudaFree(sums);
    return first < 0;
}
