// A launch orders everything before it.
#include "../memory.cuh"
__global__ void shift(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[(i + 1) % n];
}
int main() {
    int *a = numbered<int>(200), *b = blank<int>(200);
    for (int round = 0; round < 3; ++round) {
        shift<<<4, 64>>>(a, b, 200);
        shift<<<4, 64>>>(b, a, 200);
    }
    return finish(a, b);
}
