#include "mandelbrot.h"

__global__ void mandelbrot_kernel(unsigned char* count, int rows, int cols, float left, int iterations)
{
    // TODO(student): about 12 lines
    const int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || col >= cols) return;
    const float x = left + 3.0f * col / cols, y = -1.0f + 2.0f * row / rows;
    float re = 0.0f, im = 0.0f;
    int inside = 0;
    while (inside < iterations) {
        const float next = re * re - im * im + x;
        im = 2.0f * re * im + y;
        re = next;
        if (re * re + im * im >= 4.0f) break;
        ++inside;
    }
    count[row * cols + col] = inside;
    // end
}

extern "C" void mandelbrot(unsigned char* count, int rows, int cols, float left, unsigned char iterations)
{
    // TODO(student): about 2 lines
    const dim3 block(16, 16), grid((cols + 15) / 16, (rows + 15) / 16);
    mandelbrot_kernel<<<grid, block>>>(count, rows, cols, left, iterations);
    // end
}
