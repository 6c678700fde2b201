#include "../memory.cuh"
constexpr int TILE = 32, ROWS = 8;
__global__ void transpose(const float* in, float* out, int rows, int cols) {
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < cols && y + j < rows) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * cols + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < rows && y + j < cols) out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}
int main() {
    float* in = numbered<float>(70 * 45);
    float* out = blank<float>(70 * 45);
    transpose<<<dim3(2, 3), dim3(TILE, ROWS)>>>(in, out, 70, 45);
    return finish(in, out);
}
