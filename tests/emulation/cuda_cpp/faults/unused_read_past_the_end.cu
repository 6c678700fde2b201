// tool: memcheck
// gpu: nvcc moves the load below the guard, which removes the fault
#include "../memory.cuh"
__global__ void copy(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = in[i];  // FAULT out_of_bounds
    if (i < n) out[i] = value;
}
int main() {
    float* in = numbered<float>(1000);
    float* out = blank<float>(1000);
    copy<<<4, 256>>>(in, out, 1000);
    return finish(in, out);
}
