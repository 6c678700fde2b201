#include "transpose.h"

const int TILE = 32;

__global__ void transpose_kernel(const float* input, float* output, int rows, int cols)
{
    __shared__ float tile[TILE][TILE + 1];

    int col = blockIdx.x * TILE + threadIdx.x;
    int row = blockIdx.y * TILE + threadIdx.y;
    if (row < rows && col < cols)
        tile[threadIdx.y][threadIdx.x] = input[row * cols + col];

    __syncthreads();

    int out_col = blockIdx.y * TILE + threadIdx.x;
    int out_row = blockIdx.x * TILE + threadIdx.y;
    if (out_row < cols && out_col < rows)
        output[out_row * rows + out_col] = tile[threadIdx.x][threadIdx.y];
}

extern "C" void transpose(const float* input, float* output, int rows, int cols)
{
    dim3 block(TILE, TILE);
    dim3 grid((cols + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    transpose_kernel<<<grid, block>>>(input, output, rows, cols);
}
