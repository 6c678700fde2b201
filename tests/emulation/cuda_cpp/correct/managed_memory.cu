#include "../memory.cuh"
__global__ void twice(int* a, int n) {
    int i = threadIdx.x;
    if (i < n) a[i] *= 2;
}
int main() {
    int* a;
    cudaMallocManaged(&a, 100 * sizeof(int));
    for (int i = 0; i < 100; ++i) a[i] = i;
    twice<<<1, 128>>>(a, 100);
    cudaDeviceSynchronize();
    bool right = a[99] == 198;
    return finish(a) + !right;
}
