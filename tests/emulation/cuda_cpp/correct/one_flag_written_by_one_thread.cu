#include "../memory.cuh"
__global__ void any(const int* in, int* found) {
    int here = __syncthreads_or(in[blockIdx.x * blockDim.x + threadIdx.x] == 77);
    if (here && threadIdx.x == 0) *found = 1;
}
int main() {
    int* in = numbered<int>(256);
    int* found = zeros<int>(1);
    any<<<2, 128>>>(in, found);
    return finish(in, found);
}
