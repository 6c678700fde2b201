// tool: memcheck
#include "../memory.cuh"
__global__ void fill(int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) out[i] = i;  // FAULT out_of_bounds
}
int main() {
    int* out = blank<int>(300);
    fill<<<2, 256>>>(out, 300);
    return finish(out);
}
