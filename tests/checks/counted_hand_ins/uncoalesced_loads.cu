// Reads columns (line 11) and writes rows.
#include "turn.h"

constexpr int TILE = 32, ROWS = 8;

__global__ void turn_kernel(const float* input, float* output, int rows, int cols)
{
    int row = blockIdx.y * TILE + threadIdx.x, col = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (row < rows && col + j < cols) {
            float x = input[row * cols + col + j];
            output[(col + j) * rows + row] = x;
        }
}

extern "C" void turn(const float* input, float* output, int rows, int cols)
{
    dim3 block(TILE, ROWS), grid((cols + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    turn_kernel<<<grid, block>>>(input, output, rows, cols);
}
