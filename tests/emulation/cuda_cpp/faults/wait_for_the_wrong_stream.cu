// tool: racecheck
// gpu: no device tool checks host code
#include "../memory.cuh"
__global__ void fill(int* data, int value) { data[threadIdx.x] = value; }
int main() {
    int* left = zeros<int>(32);
    int* right = zeros<int>(32);
    int* host;
    cudaMallocHost(&host, 64 * sizeof(int));
    cudaStream_t first, second;
    cudaStreamCreate(&first);
    cudaStreamCreate(&second);
    fill<<<1, 32, 0, first>>>(left, 1);
    fill<<<1, 32, 0, second>>>(right, 2);
    cudaMemcpyAsync(host, left, 32 * sizeof(int), cudaMemcpyDeviceToHost, first);
    cudaMemcpyAsync(host + 32, right, 32 * sizeof(int), cudaMemcpyDeviceToHost, second);
    cudaStreamSynchronize(second);
    int sum = host[32];
    sum += host[0];  // FAULT race
    cudaStreamSynchronize(first);
    cudaStreamDestroy(first);
    cudaStreamDestroy(second);
    cudaFreeHost(host);
    return finish(left, right) + (sum > 99);
}
