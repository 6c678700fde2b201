// tool: racecheck
#include "../memory.cuh"
__device__ float4 doubled(float4 v) { return make_float4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w); }
__global__ void turn(const float4* in, float4* out) {
    __shared__ float4 tile[64];
    tile[threadIdx.x] = doubled(in[threadIdx.x]);
    out[threadIdx.x] = doubled(tile[63 - threadIdx.x]);  // FAULT race
}
int main() {
    float4* in = (float4*)numbered<float>(256);
    float4* out = (float4*)blank<float>(256);
    turn<<<1, 64>>>(in, out);
    return finish(in, out);
}
