// expect: kind=out_of_bounds line=20 cpu=error gpu=memcheck
// The guard of the store compares the rows with cols and the columns with rows.
#include "transpose.h"

constexpr int TILE = 32;  // rows and columns of a tile
constexpr int STEP = 8;   // rows of it that a block covers at once

__global__ void transpose_kernel(const float* input, float* output, int rows, int cols)
{
    __shared__ float tile[TILE][TILE + 1];
    const int first_row = blockIdx.y * TILE, first_col = blockIdx.x * TILE;
    const int x = threadIdx.x;
    for (int y = threadIdx.y; y < TILE; y += STEP) {
        const int row = first_row + y, col = first_col + x;
        tile[y][x] = row < rows && col < cols ? input[row * cols + col] : 0.0f;
    }
    __syncthreads();
    for (int y = threadIdx.y; y < TILE; y += STEP) {
        const int row = first_row + x, col = first_col + y;
        if (row < cols && col < rows) output[col * rows + row] = tile[x][y];
    }
}

extern "C" void transpose(const float* input, float* output, int rows, int cols)
{
    const dim3 blocks((cols + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    transpose_kernel<<<blocks, dim3(TILE, STEP)>>>(input, output, rows, cols);
}
