// tool: memcheck
#include "../memory.cuh"
__global__ void angles(const float* x, float* s, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    sincosf(x[i], &s[i], &c[i + 1]);  // FAULT out_of_bounds
}
int main() {
    float* x = numbered<float>(100);
    float* s = blank<float>(100);
    float* c = blank<float>(100);
    angles<<<1, 128>>>(x, s, c, 100);
    return finish(x, s, c);
}
