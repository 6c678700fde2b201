// tool: initcheck
// gpu: initcheck sees global memory only
#include "../memory.cuh"
__global__ void sum(const int* in, int* out) {
    __shared__ int part[128];
    int t = threadIdx.x;
    if (t < 100) part[t] = in[t];
    __syncthreads();
    if (t < 64) part[t] += part[t + 64];  // FAULT uninitialized
    __syncthreads();
    if (t == 0) *out = part[0];
}
int main() {
    int* in = numbered<int>(100);
    int* out = blank<int>(1);
    sum<<<1, 128>>>(in, out);
    return finish(in, out);
}
