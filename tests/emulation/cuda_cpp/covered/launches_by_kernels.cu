// nvcc: -rdc=true -lcudadevrt
#include "result.cuh"
__global__ void leaf(int* x, int n, int by) {
    int i = threadIdx.x;
    if (i < n + PLANT(1, 0)) atomicAdd(&x[i], by);  // FAULT out_of_bounds
}
__global__ void node(int* x, int n, int depth) {
    if (threadIdx.x != 0) return;
    leaf<<<1, 64>>>(x, n, depth);
    if (depth > 1) node<<<2, 32>>>(x, n, depth - 1);
}
int main() {
    int* x = zeros<int>(50);
    node<<<1, 32>>>(x, 50, 3);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    show("leaves", x, 50);
}
