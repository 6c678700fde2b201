// tool: memcheck
#include "../memory.cuh"
__global__ void fill(float* out, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int start = row * cols;
    if (start + 1 < rows) out[start + 1] = 1;  // FAULT out_of_bounds
}
int main() {
    float* out = blank<float>(64);
    fill<<<1, 2>>>(out + 32, 1, (1 << 30) + (1 << 29));
    fill<<<1, 3>>>(out, 1 << 30, (1 << 30) + (1 << 29));
    return finish(out);
}
