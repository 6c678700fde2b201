#include "../memory.cuh"
__global__ void square(float* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = a[i] * a[i];
}
int main() {
    float* a = numbered<float>(300);
    square<<<2, 256>>>(a, 300);
    return finish(a);
}
