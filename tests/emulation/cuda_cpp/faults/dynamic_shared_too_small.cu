// tool: memcheck
#include "../memory.cuh"
extern __shared__ float tile[];
__global__ void stage(float* out) {
    tile[threadIdx.x] = threadIdx.x;  // FAULT out_of_bounds
    out[threadIdx.x] = threadIdx.x;
}
int main() {
    float* out = blank<float>(256);
    stage<<<1, 256, 128 * sizeof(float)>>>(out);
    return finish(out);
}
