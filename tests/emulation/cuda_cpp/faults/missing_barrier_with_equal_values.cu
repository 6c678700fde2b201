// tool: racecheck
// gpu: racecheck may report a hazard within a warp as well
#include "../memory.cuh"
__global__ void product(const float* b, float* out, int n) {
    __shared__ float rows[2][32], columns[2][32];
    float sum = 0;
    for (int first = 0; first < n; first += 64) {
        rows[threadIdx.y][threadIdx.x] = 1.0f;  // read by this warp only, and always the same value
        columns[threadIdx.y][threadIdx.x] = b[first + threadIdx.y * 32 + threadIdx.x];  // FAULT race
        for (int p = 0; p < 32; ++p) sum += rows[threadIdx.y][p] * columns[p % 2][threadIdx.x];
        __syncthreads();
    }
    out[threadIdx.y * 32 + threadIdx.x] = sum;
}
int main() {
    float* b = numbered<float>(256);
    float* out = blank<float>(64);
    product<<<1, dim3(32, 2)>>>(b, out, 256);
    return finish(b, out);
}
