#include "../memory.cuh"
__global__ void stage(const float* in, float* out, int n) {
    extern __shared__ float pool[];
    float* first = pool;
    int* second = (int*)(pool + n);
    first[threadIdx.x] = in[threadIdx.x];
    second[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = first[second[n - 1 - threadIdx.x]];
}
int main() {
    float* in = numbered<float>(100);
    float* out = blank<float>(100);
    stage<<<1, 100, 100 * (sizeof(float) + sizeof(int))>>>(in, out, 100);
    return finish(in, out);
}
