#include "../memory.cuh"
__global__ void sum(const int* in, int* out) {
    __shared__ int part[32];
    int t = threadIdx.x;
    part[t] = in[t];
    __syncwarp();
    for (int half = 16; half > 0; half /= 2) {
        int other = t < half ? part[t + half] : 0;
        __syncwarp();
        if (t < half) part[t] += other;
        __syncwarp();
    }
    if (t == 0) *out = part[0];
}
int main() {
    int* in = numbered<int>(32);
    int* out = blank<int>(1);
    sum<<<1, 32>>>(in, out);
    return finish(in, out);
}
