// tool: memcheck
#include "../memory.cuh"
__global__ void fill(float* out) {
    out[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f;  // FAULT out_of_bounds
}
int main() {
    float* out = blank<float>(1000);
    fill<<<4, 256>>>(out);
    return finish(out);
}
