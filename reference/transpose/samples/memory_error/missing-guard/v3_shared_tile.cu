// expect: kind=out_of_bounds line=14 cpu=error gpu=memcheck
// The last tiles reach beyond the matrix, and nothing stops the loads there.
#include "transpose.h"

constexpr int TILE = 32;  // rows and columns of a tile
constexpr int STEP = 8;   // rows of it that a block covers at once

__global__ void transpose_kernel(const float* input, float* output, int rows, int cols)
{
    __shared__ float tile[TILE][TILE];
    const int first_row = blockIdx.y * TILE, first_col = blockIdx.x * TILE;
    const int x = threadIdx.x;
    for (int y = threadIdx.y; y < TILE; y += STEP) {
        tile[y][x] = input[(first_row + y) * cols + first_col + x];
    }
    __syncthreads();
    for (int y = threadIdx.y; y < TILE; y += STEP) {
        const int row = first_row + x, col = first_col + y;
        if (row < rows && col < cols) output[col * rows + row] = tile[x][y];
    }
}

extern "C" void transpose(const float* input, float* output, int rows, int cols)
{
    const dim3 blocks((cols + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    transpose_kernel<<<blocks, dim3(TILE, STEP)>>>(input, output, rows, cols);
}
