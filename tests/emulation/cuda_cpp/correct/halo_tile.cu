#include "../memory.cuh"
#define R 2
#define B 64
__global__ void stencil(const int* in, int* out, int n) {
    __shared__ int tile[B + 2 * R];
    int g = blockIdx.x * B + threadIdx.x, l = threadIdx.x + R;
    tile[l] = g < n ? in[g] : 0;
    if (threadIdx.x < R) {
        tile[l - R] = g >= R ? in[g - R] : 0;
        tile[l + B] = g + B < n ? in[g + B] : 0;
    }
    __syncthreads();
    int sum = 0;
    for (int d = -R; d <= R; ++d) sum += tile[l + d];
    if (g < n) out[g] = sum;
}
int main() {
    int* in = numbered<int>(200);
    int* out = blank<int>(200);
    stencil<<<4, B>>>(in, out, 200);
    return finish(in, out);
}
