// Tiles that are stored by atomic operations on shared memory.
#include "turn.h"

constexpr int TILE = 32, ROWS = 8;

__global__ void turn_kernel(const float* input, float* output, int rows, int cols)
{
    __shared__ float tile[TILE][TILE + 1];
    int col = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (row + j < rows && col < cols)
            atomicExch(&tile[threadIdx.y + j][threadIdx.x], input[(row + j) * cols + col]);
    __syncthreads();
    col = blockIdx.y * TILE + threadIdx.x;
    row = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (row + j < cols && col < rows) output[(row + j) * rows + col] = tile[threadIdx.x][threadIdx.y + j];
}

extern "C" void turn(const float* input, float* output, int rows, int cols)
{
    dim3 block(TILE, ROWS), grid((cols + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    turn_kernel<<<grid, block>>>(input, output, rows, cols);
}
