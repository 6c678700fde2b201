// tool: racecheck
#include "../memory.cuh"
__global__ void sum(const int* in, int* out) {
    __shared__ int part[64];
    int t = threadIdx.x;
    part[t] = in[t];
    part[t + 32] = in[t + 32];
    __syncwarp();
    volatile int* v = part;
    v[t] = v[t] + v[t + 32];
    v[t] = v[t] + v[t + 16];  // FAULT race
    if (t == 0) *out = part[0];
}
int main() {
    int* in = numbered<int>(64);
    int* out = blank<int>(1);
    sum<<<1, 32>>>(in, out);
    return finish(in, out);
}
