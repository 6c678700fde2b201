// No padding: the columns of row y are exchanged by x ^ y, which spreads a column over all banks.
#include "transpose.h"

constexpr int TILE = 32;  // rows and columns of a tile
constexpr int STEP = 8;   // rows of it that a block covers at once

__global__ void transpose_kernel(const float* input, float* output, int rows, int cols)
{
    __shared__ float tile[TILE][TILE];
    const int first_row = blockIdx.y * TILE, first_col = blockIdx.x * TILE;
    const int x = threadIdx.x;
    for (int y = threadIdx.y; y < TILE; y += STEP) {
        const int row = first_row + y, col = first_col + x;
        if (row < rows && col < cols) tile[y][x ^ y] = input[row * cols + col];
    }
    __syncthreads();
    for (int y = threadIdx.y; y < TILE; y += STEP) {
        const int row = first_row + x, col = first_col + y;
        if (row < rows && col < cols) output[col * rows + row] = tile[x][y ^ x];
    }
}

extern "C" void transpose(const float* input, float* output, int rows, int cols)
{
    const dim3 blocks((cols + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    transpose_kernel<<<blocks, dim3(TILE, STEP)>>>(input, output, rows, cols);
}
