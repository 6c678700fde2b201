// One barrier per step is enough: the two halves alternate.
#include "../memory.cuh"
__global__ void dot(const float* a, float* out, int steps) {
    __shared__ float tile[2][64];
    int t = threadIdx.x;
    float sum = 0;
    tile[0][t] = a[t];
    __syncthreads();
    for (int s = 0; s < steps; ++s) {
        if (s + 1 < steps) tile[(s + 1) % 2][t] = a[(s + 1) * 64 + t];
        for (int k = 0; k < 64; ++k) sum += tile[s % 2][k];
        __syncthreads();
    }
    out[t] = sum;
}
int main() {
    float* a = numbered<float>(256);
    float* out = blank<float>(64);
    dot<<<1, 64>>>(a, out, 4);
    return finish(a, out);
}
