// expect: kind=misaligned line=17 cpu=error gpu=memcheck
// Loads float4 from every row, also where rows do not begin at a multiple of 16 bytes.
#include "transpose.h"

constexpr int TILE = 32;  // rows and columns of a tile

__global__ void transpose_kernel(const float* input, float* output, int rows, int cols)
{
    __shared__ float tile[TILE][TILE + 1];
    const int first_row = blockIdx.y * TILE, first_col = blockIdx.x * TILE;
    const int x = threadIdx.x % 8 * 4;
    const int y = threadIdx.x / 8;

    const int row = first_row + y, col = first_col + x;
    float4 v = {};
    if (row < rows && col + 3 < cols)
        v = *reinterpret_cast<const float4*>(input + row * cols + col);
    else if (row < rows)
        for (int k = 0; k < 3; ++k)
            if (col + k < cols) (&v.x)[k] = input[row * cols + col + k];
    tile[y][x] = v.x, tile[y][x + 1] = v.y, tile[y][x + 2] = v.z, tile[y][x + 3] = v.w;
    __syncthreads();
    for (int k = 0; k < 4; ++k)
        if (first_col + y < cols && first_row + x + k < rows)
            output[(first_col + y) * rows + first_row + x + k] = tile[x + k][y];
}

extern "C" void transpose(const float* input, float* output, int rows, int cols)
{
    const dim3 blocks((cols + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    transpose_kernel<<<blocks, 256>>>(input, output, rows, cols);
}
