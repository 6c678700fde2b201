// tool: memcheck
#include "../memory.cuh"
__global__ void scale(float* a, int rows, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < cols) a[c * cols + r] *= 2;  // FAULT out_of_bounds
}
int main() {
    float* a = numbered<float>(16 * 64);
    scale<<<dim3(4, 1), dim3(16, 16)>>>(a, 16, 64);
    return finish(a);
}
