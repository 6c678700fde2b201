#include "../memory.cuh"
__global__ void scale(float* a, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) a[i] *= 2;
}
int main() {
    float* a = numbered<float>(1001);
    scale<<<2, 64>>>(a, 1001);
    return finish(a);
}
