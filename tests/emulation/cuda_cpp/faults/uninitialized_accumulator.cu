// tool: initcheck
#include "../memory.cuh"
__global__ void accumulate(const float* in, float* sum) {
    sum[threadIdx.x] += in[threadIdx.x];  // FAULT uninitialized
}
int main() {
    float* in = numbered<float>(64);
    float* sum = blank<float>(64);
    accumulate<<<1, 64>>>(in, sum);
    return finish(in, sum);
}
