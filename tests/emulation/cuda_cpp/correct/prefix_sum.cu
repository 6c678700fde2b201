#include "../memory.cuh"
__global__ void scan(const int* in, int* out) {
    __shared__ int tile[2][128];
    int t = threadIdx.x, now = 0;
    tile[0][t] = in[t];
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        tile[1 - now][t] = t >= d ? tile[now][t] + tile[now][t - d] : tile[now][t];
        now = 1 - now;
        __syncthreads();
    }
    out[t] = tile[now][t];
}
int main() {
    int* in = numbered<int>(128);
    int* out = blank<int>(128);
    scan<<<1, 128>>>(in, out);
    return finish(in, out);
}
