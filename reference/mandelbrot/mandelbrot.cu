// Mandelbrot set: for each pixel, how many steps z = z * z + p stays within |z| < 2.
//
// Idea      a thread for each pixel, in blocks of two dimensions.
// Limit     arithmetic: some 8 operations for each step, and 4 bytes for each pixel.
// Expect    a warp works until the last of its 32 pixels is done.
// Grade it  grade local mandelbrot --language cuda
#include "mandelbrot.h"

constexpr int WIDE = 32;  // columns of a block: a warp writes neighbouring pixels
constexpr int HIGH = 8;   // rows of a block
static_assert(WIDE * HIGH <= 1024, "no more threads than a block may have");

__global__ void mandelbrot_kernel(int* count,  // (rows, cols) row-major
                                  int rows, int cols, float left, float top, float step,
                                  int iterations)
{
    // TODO(student): about 14 lines
    // 1. Where am I: the pixel of this thread. Blocks at the right and below may be past the end.
    const int col = blockIdx.x * WIDE + threadIdx.x;
    const int row = blockIdx.y * HIGH + threadIdx.y;
    if (row >= rows || col >= cols) return;

    // 2. The pixel's point: columns go right, rows go down.
    const float x = left + step * col;
    const float y = top - step * row;

    // 3. The steps that stay within the circle.
    float re = 0.0f, im = 0.0f;
    int inside = 0;
    while (inside < iterations) {
        const float next = re * re - im * im + x;
        im = 2.0f * re * im + y;
        re = next;
        if (re * re + im * im >= 4.0f) break;
        ++inside;
    }

    // 4. Store.
    count[static_cast<long long>(row) * cols + col] = inside;
    // end
}

// Called by the grader with a device pointer.
extern "C" void mandelbrot(int* count, int rows, int cols, float left, float top, float step,
                           int iterations)
{
    // TODO(student): about 3 lines
    // As many blocks as cover the picture, rounded up in both directions.
    const dim3 block(WIDE, HIGH);
    const dim3 grid(cols / WIDE + (cols % WIDE != 0), rows / HIGH + (rows % HIGH != 0));
    mandelbrot_kernel<<<grid, block>>>(count, rows, cols, left, top, step, iterations);
    // end
}
