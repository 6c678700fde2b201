// tool: memcheck
// gpu: the address is inside the variable, in its next row
#include "../memory.cuh"
__global__ void shift(const float* in, float* out) {
    __shared__ float tile[8][8];
    int x = threadIdx.x, y = threadIdx.y;
    tile[y][x] = in[y * 8 + x];
    __syncthreads();
    out[y * 8 + x] = y < 7 ? tile[y][x + 1] : 0;  // FAULT out_of_bounds warning
}
int main() {
    float* in = numbered<float>(64);
    float* out = blank<float>(64);
    shift<<<1, dim3(8, 8)>>>(in, out);
    return finish(in, out);
}
