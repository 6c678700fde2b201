// transpose.h: the function to implement (generated from assignment.toml).
//   input   (rows, cols) row-major, in, device memory
//   output  (cols, rows) row-major, out, device memory
//   rows    scalar
//   cols    scalar
#pragma once

extern "C" void transpose(const float* input, float* output, int rows, int cols);
