#include "../memory.cuh"
__global__ void histogram(const int* in, int* out, int n) {
    __shared__ int bins[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[in[i] & 15], 1);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}
int main() {
    int* in = numbered<int>(1000);
    int* out = zeros<int>(16);
    histogram<<<3, 128>>>(in, out, 1000);
    return finish(in, out);
}
