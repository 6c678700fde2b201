#include "../memory.cuh"
__global__ void normalize(const float* in, float* out, int cols, float epsilon) {
    __shared__ float inverse;
    __shared__ float parts[32];
    const float* row = in + blockIdx.x * cols;
    float sum = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += row[c] * row[c];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        float total = 0;
        for (int w = 0; w < blockDim.x / 32; ++w) total += parts[w];
        inverse = rsqrtf(total / cols + epsilon);
    }
    __syncthreads();
    for (int c = threadIdx.x; c < cols; c += blockDim.x) out[blockIdx.x * cols + c] = row[c] * inverse;
}
int main() {
    float* in = numbered<float>(3 * 100);
    float* out = blank<float>(3 * 100);
    normalize<<<3, 64>>>(in, out, 100, 1e-6f);
    return finish(in, out);
}
