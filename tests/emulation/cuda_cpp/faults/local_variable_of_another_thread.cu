// tool: memcheck
// gpu: the address is valid there: it is the reader's own local memory
#include "../memory.cuh"
__global__ void share(float* out) {
    __shared__ const float* given;
    float mine[4] = {1, 2, 3, 4};
    if (threadIdx.x == 0) given = mine;
    __syncthreads();
    out[threadIdx.x] = given[threadIdx.x % 4];  // FAULT out_of_bounds
    __syncthreads();
}
int main() {
    float* out = blank<float>(64);
    share<<<1, 64>>>(out);
    return finish(out);
}
