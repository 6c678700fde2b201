#include "result.cuh"
__managed__ int factor = 2;
__global__ void scale(int* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n + PLANT(8, 0)) x[i] *= factor;  // FAULT out_of_bounds
}
int main() {
    int *x, n = 120, device = 0;
    cudaMallocManaged(&x, n * sizeof(int));
    for (int i = 0; i < n; ++i) x[i] = i;
    cudaMemLocation here = {cudaMemLocationTypeDevice, device};
    cudaMemAdvise(x, n * sizeof(int), cudaMemAdviseSetPreferredLocation, here);
    cudaMemPrefetchAsync(x, n * sizeof(int), here, 0);
    factor = 3;
    scale<<<2, 64>>>(x, n);
    cudaDeviceSynchronize();
    printf("%d %d\n", x[7], x[119]);
    cudaFree(x);
}
