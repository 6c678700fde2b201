// tool: racecheck
// gpu: racecheck sees shared memory only
#include "../memory.cuh"
__global__ void twice(int* data) { data[threadIdx.x] *= 2; }
int main() {
    int* data = zeros<int>(32);
    int* host;
    cudaMallocHost(&host, 32 * sizeof(int));
    for (int i = 0; i < 32; ++i) host[i] = i;
    cudaStream_t copies, kernels;
    cudaStreamCreate(&copies);
    cudaStreamCreate(&kernels);
    cudaMemcpyAsync(data, host, 32 * sizeof(int), cudaMemcpyHostToDevice, copies);  // FAULT race
    twice<<<1, 32, 0, kernels>>>(data);
    cudaDeviceSynchronize();
    cudaStreamDestroy(copies);
    cudaStreamDestroy(kernels);
    cudaFreeHost(host);
    return finish(data);
}
