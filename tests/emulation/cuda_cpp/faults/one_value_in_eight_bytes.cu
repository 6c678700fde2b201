// tool: racecheck
// gpu: racecheck accepts writes of one value
#include "../memory.cuh"
__global__ void fill(double* out) {
    __shared__ double s[32];
    s[threadIdx.x] = 1.0;  // FAULT race warning
    __syncthreads();
    if (threadIdx.y == 0) out[threadIdx.x] = s[threadIdx.x];
}
int main() {
    double* out = blank<double>(32);
    fill<<<1, dim3(32, 2)>>>(out);
    return finish(out);
}
