// tool: racecheck
// gpu: racecheck sees shared memory only
#include "../memory.cuh"
__global__ void transpose(float* a, int n) {
    int c = threadIdx.x, r = threadIdx.y;
    float value = a[r * n + c];
    a[c * n + r] = value;  // FAULT race
}
int main() {
    float* a = numbered<float>(16 * 16);
    transpose<<<1, dim3(16, 16)>>>(a, 16);
    return finish(a);
}
