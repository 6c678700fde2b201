// tool: memcheck
// gpu: host code uses a copy of its own, which no tool checks; nvcc warns
#include "../memory.cuh"
__device__ int total;
__device__ int bins[4];
__device__ const int first = 1;
__constant__ int second = 2;
__managed__ int shared;
__global__ void count() { atomicAdd(&total, bins[threadIdx.x] + first + second + shared); }
int main() {
    total = first;  // FAULT out_of_bounds
    for (int i = 0; i < 4; ++i) bins[i] = second;  // FAULT out_of_bounds
    shared = 0;
    count<<<1, 4>>>();
    cudaDeviceSynchronize();
    int sum;
    cudaMemcpyFromSymbol(&sum, total, sizeof sum);
    const bool right = sum == total;  // FAULT out_of_bounds
    return right ? finish<int>(nullptr) : 0;
}
