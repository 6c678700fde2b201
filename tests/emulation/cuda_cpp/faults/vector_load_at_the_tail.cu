// tool: memcheck
#include "../memory.cuh"
__global__ void sum4(const float4* in, float* out) {
    float4 v = in[threadIdx.x];  // FAULT out_of_bounds
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
}
int main() {
    float* in = numbered<float>(100);
    float* out = blank<float>(32);
    sum4<<<1, 32>>>((const float4*)in, out);
    return finish(in, out);
}
