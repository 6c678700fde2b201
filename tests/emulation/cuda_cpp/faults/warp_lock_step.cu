// tool: racecheck
#include "../memory.cuh"
__global__ void sum(const int* in, int* out) {
    __shared__ int part[32];
    int t = threadIdx.x;
    part[t] = in[t];
    __syncwarp();
    if (t < 16) part[t] += part[t + 16];  // within one step each lane has its own pair
    if (t < 8) part[t] += part[t + 8];  // FAULT race
    if (t == 0) *out = part[0];
}
int main() {
    int* in = numbered<int>(32);
    int* out = blank<int>(1);
    sum<<<1, 32>>>(in, out);
    return finish(in, out);
}
