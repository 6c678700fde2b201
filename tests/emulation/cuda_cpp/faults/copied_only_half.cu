// tool: initcheck
#include "../memory.cuh"
__global__ void twice(const int* in, int* out) {
    out[threadIdx.x] = 2 * in[threadIdx.x];  // FAULT uninitialized
}
int main() {
    static int host[64];
    int* in = blank<int>(64);
    int* out = blank<int>(64);
    cudaMemcpy(in, host, 32 * sizeof(int), cudaMemcpyHostToDevice);
    twice<<<1, 64>>>(in, out);
    return finish(in, out);
}
