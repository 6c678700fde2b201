// tool: synccheck
// gpu: the value of a lane that has ended is undefined, but no tool says so
#include "../memory.cuh"
__global__ void sum(const int* in, int* out, int n) {
    if (threadIdx.x >= n) return;
    int v = in[threadIdx.x];
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);  // FAULT barrier warning
    if (threadIdx.x == 0) *out = v;
}
int main() {
    int* in = numbered<int>(24);
    int* out = blank<int>(1);
    sum<<<1, 32>>>(in, out, 24);
    return finish(in, out);
}
