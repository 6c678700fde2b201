// tool: memcheck
#include "../memory.cuh"
__global__ void fill(double* out) {
    out[threadIdx.x] = 0.5;  // FAULT out_of_bounds
}
int main() {
    float* out = blank<float>(128);
    fill<<<1, 128>>>((double*)out);
    return finish(out);
}
