// tool: racecheck
// gpu: racecheck may report a hazard
#include "../memory.cuh"
__global__ void again(int* out) {
    __shared__ int flag;
    if (threadIdx.x == 0) flag = 1;
    __syncthreads();
    if (threadIdx.x < 32) out[threadIdx.x] = flag;
    if (threadIdx.x == 32) flag = 1;  // FAULT race
}
int main() {
    int* out = blank<int>(32);
    again<<<1, 64>>>(out);
    return finish(out);
}
