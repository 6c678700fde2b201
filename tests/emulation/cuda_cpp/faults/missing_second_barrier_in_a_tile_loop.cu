// tool: racecheck
#include "../memory.cuh"
__global__ void dot(const float* a, float* out, int n) {
    __shared__ float tile[64];
    float sum = 0;
    for (int first = 0; first < n; first += 64) {
        tile[threadIdx.x] = a[first + threadIdx.x];  // FAULT race
        __syncthreads();
        for (int k = 0; k < 64; ++k) sum += tile[k];
    }
    out[threadIdx.x] = sum;
}
int main() {
    float* a = numbered<float>(256);
    float* out = blank<float>(64);
    dot<<<1, 64>>>(a, out, 256);
    return finish(a, out);
}
