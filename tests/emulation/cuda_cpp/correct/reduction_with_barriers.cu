#include "../memory.cuh"
template <int N> __global__ void sum(const int* in, int* out) {
    __shared__ int part[N];
    int t = threadIdx.x;
    part[t] = in[blockIdx.x * N + t];
    __syncthreads();
#pragma unroll
    for (int half = N / 2; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = part[0];
}
int main() {
    int* in = numbered<int>(512);
    int* out = blank<int>(2);
    sum<256><<<2, 256>>>(in, out);
    return finish(in, out);
}
