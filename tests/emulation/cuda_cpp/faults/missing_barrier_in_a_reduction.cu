// tool: racecheck
#include "../memory.cuh"
__global__ void sum(const int* in, int* out) {
    __shared__ int part[256];
    int t = threadIdx.x;
    part[t] = in[t];
    __syncthreads();
    for (int half = 128; half > 0; half /= 2)
        if (t < half) part[t] += part[t + half];  // FAULT race
    if (t == 0) *out = part[0];
}
int main() {
    int* in = numbered<int>(256);
    int* out = blank<int>(1);
    sum<<<1, 256>>>(in, out);
    return finish(in, out);
}
