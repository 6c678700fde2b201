// A thread that has returned counts as arrived (Volta and later).
#include "../memory.cuh"
__global__ void copy(const int* in, int* out, int n) {
    if (threadIdx.x >= n) return;
    __shared__ int tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[n - 1 - threadIdx.x];
}
int main() {
    int* in = numbered<int>(50);
    int* out = blank<int>(50);
    copy<<<1, 64>>>(in, out, 50);
    return finish(in, out);
}
