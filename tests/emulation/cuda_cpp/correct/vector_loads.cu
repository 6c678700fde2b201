#include "../memory.cuh"
__global__ void scale(const float4* in, float4* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 v = in[i];
        out[i] = make_float4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w);
    }
}
int main() {
    float* in = numbered<float>(400);
    float* out = blank<float>(400);
    scale<<<1, 128>>>((const float4*)in, (float4*)out, 100);
    return finish(in, out);
}
