// expect: check=counters line=22 message="sectors per load request"
// Uses the tile in a single size, as if accesses were always counted there.
#include "transpose.h"

constexpr int TILE = 32;

__global__ void tiled(const float* input, float* output, int rows, int cols)
{
    __shared__ float tile[TILE][TILE + 1];
    int col = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    if (row < rows && col < cols) tile[threadIdx.y][threadIdx.x] = input[row * cols + col];
    __syncthreads();
    col = blockIdx.x * TILE + threadIdx.y;
    row = blockIdx.y * TILE + threadIdx.x;
    if (row < rows && col < cols) output[col * rows + row] = tile[threadIdx.x][threadIdx.y];
}

__global__ void row_wise(const float* input, float* output, int rows, int cols)
{
    const long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    for (long long col = 0; col < cols; ++col) output[col * rows + row] = input[row * cols + col];
}

extern "C" void transpose(const float* input, float* output, int rows, int cols)
{
    if (rows <= 0 || cols <= 0) return;
    if (rows == 256 && cols == 328)
        tiled<<<dim3((cols - 1) / TILE + 1, (rows - 1) / TILE + 1), dim3(TILE, TILE)>>>(input, output, rows, cols);
    else
        row_wise<<<(rows - 1) / 128 + 1, 128>>>(input, output, rows, cols);
}
