// tool: memcheck
// gpu: this runs if the driver gives kernels access to all of the host's memory (HMM)
#include "../memory.cuh"
__global__ void copy(const float* in, float* out) {
    out[threadIdx.x] = in[threadIdx.x];  // FAULT out_of_bounds
}
int main() {
    float* in = (float*)calloc(32, sizeof(float));
    float* out = blank<float>(32);
    copy<<<1, 32>>>(in, out);
    return finish(out);
}
