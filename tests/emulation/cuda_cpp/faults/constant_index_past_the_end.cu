// tool: memcheck
// gpu: constant memory is one bank of 64 KiB to a GPU's tool
#include "../memory.cuh"
__constant__ float weights[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__global__ void weigh(float* out) {
    out[threadIdx.x] = weights[threadIdx.x];  // FAULT out_of_bounds
}
int main() {
    float* out = blank<float>(10);
    weigh<<<1, 10>>>(out);
    return finish(out);
}
