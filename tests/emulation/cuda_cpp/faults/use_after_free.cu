// tool: memcheck
#include "../memory.cuh"
__global__ void read(const int* in, int* out) {
    out[threadIdx.x] = in[threadIdx.x];  // FAULT out_of_bounds
}
int main() {
    int* in = numbered<int>(32);
    int* out = blank<int>(32);
    cudaFree(in);
    read<<<1, 32>>>(in, out);
    return finish(out);
}
