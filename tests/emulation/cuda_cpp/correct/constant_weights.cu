#include "../memory.cuh"
__constant__ float weights[5];
__device__ int calls;
__global__ void convolve(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) calls = 1;
    float sum = 0;
    for (int k = 0; k < 5; ++k)
        if (i + k - 2 >= 0 && i + k - 2 < n) sum += weights[k] * in[i + k - 2];
    if (i < n) out[i] = sum;
}
int main() {
    const float w[5] = {1, 2, 3, 2, 1};
    cudaMemcpyToSymbol(weights, w, sizeof w);
    float* in = numbered<float>(100);
    float* out = blank<float>(100);
    convolve<<<2, 64>>>(in, out, 100);
    int times;
    cudaMemcpyFromSymbol(&times, calls, sizeof times);
    return finish(in, out) + (times != 1);
}
