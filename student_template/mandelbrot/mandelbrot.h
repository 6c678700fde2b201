// mandelbrot.h: the function to implement (generated from assignment.toml).
//   count       (rows, cols) row-major, out, device memory
//   rows        scalar
//   cols        scalar
//   left        scalar
//   top         scalar
//   step        scalar
//   iterations  scalar
#pragma once

extern "C" void mandelbrot(int* count, int rows, int cols, float left, float top, float step, int iterations);
