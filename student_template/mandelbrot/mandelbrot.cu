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
    // 2. The pixel's point: columns go right, rows go down.
    // 3. The steps that stay within the circle.
    // 4. Store.
    // end
}

// Called by the grader with a device pointer.
extern "C" void mandelbrot(int* count, int rows, int cols, float left, float top, float step,
                           int iterations)
{
    // TODO(student): about 3 lines
    // As many blocks as cover the picture, rounded up in both directions.
    // end
}
