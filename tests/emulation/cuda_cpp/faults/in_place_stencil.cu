// tool: racecheck
// gpu: racecheck sees shared memory only
#include "../memory.cuh"
__global__ void smooth(float* a, int n) {
    int i = threadIdx.x;
    if (i > 0 && i < n - 1) a[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;  // FAULT race
}
int main() {
    float* a = numbered<float>(128);
    smooth<<<1, 128>>>(a, 128);
    return finish(a);
}
