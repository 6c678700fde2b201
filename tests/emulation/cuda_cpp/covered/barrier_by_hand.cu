#include "result.cuh"
__device__ unsigned arrived;
__device__ void wait_for_all() {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(&arrived, 1);
        while (atomicAdd(&arrived, 0) < gridDim.x) {}
        __threadfence();
    }
    __syncthreads();
}
__global__ void rotate(int* x, int* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    y[i] = x[i] * 2;
    wait_for_all();
    x[i + PLANT(n, 0)] = ((volatile int*)y)[(i + 32) % n];  // FAULT out_of_bounds
}
int main() {
    int* x = filled<int>(128, [](int i) { return i; });
    int* y = zeros<int>(128);
    void* arguments[] = {&x, &y};
    cudaLaunchCooperativeKernel(rotate, dim3(4), dim3(32), arguments, 0, 0);
    show("rotated", x, 128);
    cudaFree(y);
}
