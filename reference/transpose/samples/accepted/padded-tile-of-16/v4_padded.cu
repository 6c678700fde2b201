// A padded tile of 16 x 16: a warp holds two of its rows, and two of the 32 accesses conflict.
#include "transpose.h"

constexpr int TILE = 16;

__global__ void transpose_kernel(const float* input, float* output, int rows, int cols)
{
    __shared__ float tile[TILE][TILE + 1];
    long long col = static_cast<long long>(blockIdx.x) * TILE + threadIdx.x;
    long long row = static_cast<long long>(blockIdx.y) * TILE + threadIdx.y;
    if (row < rows && col < cols) tile[threadIdx.y][threadIdx.x] = input[row * cols + col];
    __syncthreads();
    col = static_cast<long long>(blockIdx.x) * TILE + threadIdx.y;
    row = static_cast<long long>(blockIdx.y) * TILE + threadIdx.x;
    if (row < rows && col < cols) output[col * rows + row] = tile[threadIdx.x][threadIdx.y];
}

extern "C" void transpose(const float* input, float* output, int rows, int cols)
{
    if (rows <= 0 || cols <= 0) return;
    const dim3 grid((cols - 1) / TILE + 1, (rows - 1) / TILE + 1);
    transpose_kernel<<<grid, dim3(TILE, TILE)>>>(input, output, rows, cols);
}
