// tool: memcheck
#include "../memory.cuh"
__global__ void load(const float* in, float* out) {
    float4 v = *reinterpret_cast<const float4*>(in + 1 + 4 * threadIdx.x);  // FAULT misaligned
    out[threadIdx.x] = v.x + v.y + v.z + v.w;  // use all of it, or nvcc loads only one word
}
int main() {
    float* in = numbered<float>(256);
    float* out = blank<float>(32);
    load<<<1, 32>>>(in, out);
    return finish(in, out);
}
